/* SPDX-License-Identifier: Apache-2.0
 *
 * Notices as GitHub's workflow commands, GitLab's code quality report, JUnit's XML and SARIF 2.1.0.
 */
#include "analyze/document/escape.h"
#include "analyze/document/json_out.h"
#include "analyze/export/notices.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const gm_notice_forms[GM_NOTICES_FORMS + 1] = {[GM_NOTICES_GITHUB] = "github",
                                                           [GM_NOTICES_GITLAB] = "gitlab",
                                                           [GM_NOTICES_JUNIT] = "junit",
                                                           [GM_NOTICES_SARIF] = "sarif"};

/* "TITLE: TEXT", or the title. */
static void add_message(struct gm_text *out, const struct gm_notice *n)
{
    gm_text_add(out, n->title);
    if (n->text != NULL)
        gm_text_printf(out, ": %s", n->text);
    if (n->site != NULL && (n->text == NULL || strstr(n->text, n->site) == NULL))
        gm_text_printf(out, " [%s]", n->site);
}

/* ---- GitHub ------------------------------------------------------------------------------------------------------ */

/* A value of a command; of a property also what ends it. */
static void add_command_value(struct gm_text *out, const char *s, bool is_property)
{
    for (; *s != '\0'; s++)
        if (*s == '%' || *s == '\r' || *s == '\n' || (is_property && (*s == ':' || *s == ',')))
            gm_text_printf(out, "%%%02X", (unsigned)*s);
        else
            gm_text_add_char(out, *s);
}

static void write_github(struct gm_text *out, const struct gm_notices *notices)
{
    static const char *const commands[] = {
        [GM_NOTICE_NOTE] = "notice", [GM_NOTICE_WARNING] = "warning", [GM_NOTICE_ERROR] = "error"};
    for (size_t i = 0; i < notices->all.n; i++) {
        const struct gm_notice *n = &notices->all.v[i];
        GM_FREED struct gm_text message = {0};
        if (n->level == GM_NOTICE_PASSED)
            continue;
        gm_text_printf(out, "::%s ", commands[n->is_failure ? GM_NOTICE_ERROR : n->level]);
        if (n->file != NULL) {
            gm_text_add(out, "file=");
            add_command_value(out, n->file, true);
            if (n->line > 0)
                gm_text_printf(out, ",line=%" PRIu64, n->line);
            gm_text_add(out, ",");
        }
        gm_text_add(out, "title=");
        add_command_value(out, n->rule, true);
        gm_text_add(out, "::");
        add_message(&message, n);
        out->failed = out->failed || message.failed;
        add_command_value(out, message.failed ? "" : message.data, false);
        gm_text_add_char(out, '\n');
    }
}

/* ---- what JSON and XML share ------------------------------------------------------------------------------------- */

/* What stays the same when lines move and sizes change, so that a notice is known again: 128 bits of FNV-1a over rule,
 * place and the number of equal ones before it. */
struct fingerprint {
    char text[33];
};

static uint64_t mix(uint64_t hash, const char *s)
{
    for (; s != NULL && *s != '\0'; s++)
        hash = (hash ^ (unsigned char)*s) * UINT64_C(0x100000001B3);
    return (hash ^ 0xFF) * UINT64_C(0x100000001B3);
}

static size_t site_length(const char *site)
{
    const char *colon = site == NULL ? NULL : strrchr(site, ':');
    return site == NULL ? 0 : colon == NULL ? strlen(site) : (size_t)(colon - site);
}

static bool is_alike(const struct gm_notice *a, const struct gm_notice *b)
{
    const size_t n = site_length(a->site);
    return strcmp(a->rule, b->rule) == 0 && n == site_length(b->site) &&
           (n == 0 || strncmp(a->site, b->site, n) == 0) && strcmp(a->subject, b->subject) == 0;
}

static struct fingerprint fingerprint_of(const struct gm_notices *notices, size_t i)
{
    const struct gm_notice *n = &notices->all.v[i];
    struct fingerprint f;
    char site[256], number[24];
    size_t before = 0;
    for (size_t k = 0; k < i; k++)
        before += is_alike(&notices->all.v[k], n);
    snprintf(site, sizeof site, "%.*s", (int)(site_length(n->site) < sizeof site ? site_length(n->site) : 255),
             n->site == NULL ? "" : n->site);
    snprintf(number, sizeof number, "%zu", before);
    uint64_t halves[2] = {UINT64_C(0xCBF29CE484222325), UINT64_C(0x9AE16A3B2F90404F)};
    for (size_t k = 0; k < 2; k++)
        halves[k] = mix(mix(mix(mix(halves[k], n->rule), site), gm_file_name(n->subject)), number);
    snprintf(f.text, sizeof f.text, "%016" PRIx64 "%016" PRIx64, halves[0], halves[1]);
    return f;
}

static void json_message(struct gm_json *json, const char *key, const struct gm_notice *n)
{
    GM_FREED struct gm_text message = {0};
    add_message(&message, n);
    json->out->failed = json->out->failed || message.failed;
    gm_json_string(json, key, message.failed ? "" : message.data);
}

/* ---- GitLab ------------------------------------------------------------------------------------------------------ */

static void write_gitlab(struct gm_text *out, const struct gm_notices *notices)
{
    static const char *const severities[] = {
        [GM_NOTICE_NOTE] = "info", [GM_NOTICE_WARNING] = "major", [GM_NOTICE_ERROR] = "critical"};
    struct gm_json json = {.out = out};
    gm_json_open(&json, NULL, '[');
    for (size_t i = 0; i < notices->all.n; i++) {
        const struct gm_notice *n = &notices->all.v[i];
        if (n->level == GM_NOTICE_PASSED)
            continue;
        gm_json_open(&json, NULL, '{');
        json_message(&json, "description", n);
        gm_json_string(&json, "check_name", n->rule);
        gm_json_string(&json, "fingerprint", fingerprint_of(notices, i).text);
        gm_json_string(&json, "severity", n->is_failure ? "blocker" : severities[n->level]);
        gm_json_open(&json, "location", '{');
        gm_json_string(&json, "path", n->file != NULL ? n->file : n->subject);
        gm_json_open(&json, "lines", '{');
        gm_json_number(&json, "begin", n->line > 0 ? n->line : 1);
        gm_json_close(&json, '}');
        gm_json_close(&json, '}');
        gm_json_close(&json, '}');
    }
    gm_json_close(&json, ']');
    gm_text_add_char(out, '\n');
}

/* ---- JUnit ------------------------------------------------------------------------------------------------------- */

static void add_attribute(struct gm_text *out, const char *name, const char *value)
{
    gm_text_printf(out, " %s=\"", name);
    gm_text_add_xml(out, value);
    gm_text_add_char(out, '"');
}

/* Of a subject; NULL: of all. */
static void add_counts(struct gm_text *out, const struct gm_notices *notices, const char *subject)
{
    size_t tests = 0, failures = 0, errors = 0;
    for (size_t i = 0; i < notices->all.n; i++) {
        const struct gm_notice *n = &notices->all.v[i];
        if (subject != NULL && strcmp(n->subject, subject) != 0)
            continue;
        tests++;
        failures += n->is_failure && !n->is_error;
        errors += n->is_error;
    }
    gm_text_printf(out, " tests=\"%zu\" failures=\"%zu\" errors=\"%zu\"", tests, failures, errors);
}

static void add_case(struct gm_text *out, const struct gm_notice *n, const char *program)
{
    GM_FREED struct gm_text name = {0}, message = {0};
    gm_text_printf(&name, "%s%s%s", n->rule, n->site == NULL ? "" : " at ", n->site == NULL ? "" : n->site);
    add_message(&message, n);
    if (n->file != NULL)
        gm_text_printf(&message, n->line > 0 ? "\n%s:%" PRIu64 : "\n%s", n->file, n->line);
    out->failed = out->failed || name.failed || message.failed;
    gm_text_add(out, "    <testcase");
    add_attribute(out, "classname", program);
    add_attribute(out, "name", name.failed ? "" : name.data);
    const char *what = n->is_error ? "error" : n->is_failure ? "failure" : "system-out";
    gm_text_printf(out, " time=\"0\">\n      <%s", what);
    if (n->is_failure || n->is_error) {
        add_attribute(out, "type", n->rule);
        add_attribute(out, "message", n->title);
    }
    gm_text_add_char(out, '>');
    gm_text_add_xml(out, message.failed ? "" : message.data);
    gm_text_printf(out, "</%s>\n    </testcase>\n", what);
}

static bool is_first_of_subject(const struct gm_notices *notices, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (strcmp(notices->all.v[k].subject, notices->all.v[i].subject) == 0)
            return false;
    return true;
}

/* A suite for each subject. */
static void write_junit(struct gm_text *out, const struct gm_notices *notices, const char *program)
{
    const struct gm_notice *v = notices->all.v;
    gm_text_add(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites");
    add_attribute(out, "name", program);
    add_counts(out, notices, NULL);
    gm_text_add(out, ">\n");
    for (size_t i = 0; i < notices->all.n; i++) {
        if (!is_first_of_subject(notices, i))
            continue;
        gm_text_add(out, "  <testsuite");
        add_attribute(out, "name", v[i].subject);
        add_counts(out, notices, v[i].subject);
        gm_text_add(out, " skipped=\"0\" time=\"0\">\n");
        for (size_t k = i; k < notices->all.n; k++)
            if (strcmp(v[k].subject, v[i].subject) == 0)
                add_case(out, &v[k], program);
        gm_text_add(out, "  </testsuite>\n");
    }
    gm_text_add(out, "</testsuites>\n");
}

/* ---- SARIF ------------------------------------------------------------------------------------------------------- */

static void add_location(struct gm_json *json, const struct gm_notice *n)
{
    GM_FREED struct gm_text uri = {0};
    gm_escape_url(&uri, n->file != NULL ? n->file : n->subject);
    json->out->failed = json->out->failed || uri.failed;
    gm_json_open(json, "locations", '[');
    gm_json_open(json, NULL, '{');
    gm_json_open(json, "physicalLocation", '{');
    gm_json_open(json, "artifactLocation", '{');
    gm_json_string(json, "uri", uri.failed ? "" : uri.data);
    gm_json_close(json, '}');
    if (n->line > 0) {
        gm_json_open(json, "region", '{');
        gm_json_number(json, "startLine", n->line);
        gm_json_close(json, '}');
    }
    gm_json_close(json, '}');
    gm_json_close(json, '}');
    gm_json_close(json, ']');
}

/* The rules of what is told, in the order of their first notices. */
struct rules GM_VEC(const char *);

/* Its number; how many there are if it is none of them. */
static size_t rule_index(const struct rules *rules, const char *rule)
{
    size_t i = 0;
    while (i < rules->n && strcmp(rules->v[i], rule) != 0)
        i++;
    return i;
}

static void add_object(struct gm_json *json, const char *key, const char *name, const char *text)
{
    gm_json_open(json, key, '{');
    gm_json_string(json, name, text);
    gm_json_close(json, '}');
}

static void add_rules(struct gm_json *json, const struct gm_notices *notices, struct rules *rules)
{
    gm_json_open(json, "rules", '[');
    for (size_t i = 0; i < notices->all.n; i++) {
        const struct gm_notice *n = &notices->all.v[i];
        if (n->level == GM_NOTICE_PASSED || rule_index(rules, n->rule) < rules->n)
            continue;
        if (!GM_VEC_PUSH(rules, n->rule))
            json->out->failed = true;
        gm_json_open(json, NULL, '{');
        gm_json_string(json, "id", n->rule);
        add_object(json, "shortDescription", "text", n->rule);
        gm_json_close(json, '}');
    }
    gm_json_close(json, ']');
}

static void add_result(struct gm_json *json, const struct gm_notices *notices, size_t i, const struct rules *rules)
{
    static const char *const levels[] = {
        [GM_NOTICE_NOTE] = "note", [GM_NOTICE_WARNING] = "warning", [GM_NOTICE_ERROR] = "error"};
    const struct gm_notice *n = &notices->all.v[i];
    gm_json_open(json, NULL, '{');
    gm_json_string(json, "ruleId", n->rule);
    gm_json_number(json, "ruleIndex", rule_index(rules, n->rule));
    gm_json_string(json, "level", levels[n->is_failure ? GM_NOTICE_ERROR : n->level]);
    gm_json_open(json, "message", '{');
    json_message(json, "text", n);
    gm_json_close(json, '}');
    add_location(json, n);
    add_object(json, "partialFingerprints", "gmNotice/v1", fingerprint_of(notices, i).text);
    add_object(json, "properties", "snapshot", n->subject);
    gm_json_close(json, '}');
}

static void write_sarif(struct gm_text *out, const struct gm_notices *notices, const char *program, const char *version)
{
    struct gm_json json = {.out = out};
    struct rules rules = {0};
    gm_json_open(&json, NULL, '{');
    gm_json_string(&json, "$schema", "https://json.schemastore.org/sarif-2.1.0.json");
    gm_json_string(&json, "version", "2.1.0");
    gm_json_open(&json, "runs", '[');
    gm_json_open(&json, NULL, '{');
    gm_json_open(&json, "tool", '{');
    gm_json_open(&json, "driver", '{');
    gm_json_string(&json, "name", program);
    gm_json_string(&json, "version", version);
    add_rules(&json, notices, &rules);
    gm_json_close(&json, '}');
    gm_json_close(&json, '}');
    gm_json_open(&json, "results", '[');
    for (size_t i = 0; i < notices->all.n; i++)
        if (notices->all.v[i].level != GM_NOTICE_PASSED)
            add_result(&json, notices, i, &rules);
    gm_json_close(&json, ']');
    gm_json_close(&json, '}');
    gm_json_close(&json, ']');
    gm_json_close(&json, '}');
    gm_text_add_char(out, '\n');
    free(rules.v);
}

void gm_notices_write(struct gm_text *out, const struct gm_notices *notices, enum gm_notice_form form,
                      const char *program, const char *version)
{
    if (notices->failed) {
        out->failed = true;
        return;
    }
    switch (form) {
    case GM_NOTICES_GITHUB:
        write_github(out, notices);
        break;
    case GM_NOTICES_GITLAB:
        write_gitlab(out, notices);
        break;
    case GM_NOTICES_JUNIT:
        write_junit(out, notices, program);
        break;
    default:
        write_sarif(out, notices, program, version);
        break;
    }
}
