// SPDX-License-Identifier: Apache-2.0
// A browser starts no Worker for a page that was opened as a file, and the theme's search is one: here it runs in a frame.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const base = new URL(url, document.baseURI);
      this.waiting = [];
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      const inside = frame.contentWindow;
      inside.importScripts = (...urls) => urls.reduce((before, one) => before.then(() => new Promise((done, failed) => {
        const script = inside.document.createElement("script");
        script.src = new URL(one, base).href;
        script.onload = done;
        script.onerror = failed;
        inside.document.body.append(script);
      })), Promise.resolve());
      inside.postMessage = (data) => this.tell(this, data);
      this.inside = inside;
      inside.importScripts(base.href).then(() => {
        const waiting = this.waiting;
        this.waiting = null;
        for (const data of waiting) this.tell(inside, data);
      }, () => this.dispatchEvent(new Event("error")));
    }
    tell(target, data) {
      const message = new MessageEvent("message", {data});
      target.dispatchEvent(message);
      if (target === this && this.onmessage) this.onmessage(message);
    }
    postMessage(data) {
      if (this.waiting) this.waiting.push(data);
      else this.tell(this.inside, data);
    }
    terminate() {}
  };
}
