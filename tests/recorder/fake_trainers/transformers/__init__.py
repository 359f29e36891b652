# SPDX-License-Identifier: Apache-2.0
"""As much of transformers as a callback meets: every event that a Trainer calls, by its name, on every callback."""
EVENTS = ("on_init_end", "on_train_begin", "on_epoch_begin", "on_step_begin", "on_substep_end", "on_step_end", "on_epoch_end",
          "on_train_end")


class TrainerCallback:
    pass


for _event in EVENTS:
    setattr(TrainerCallback, _event, lambda self, args, state, control, **kwargs: None)


class Trainer:
    def __init__(self, model, callbacks):
        self.model = model
        self.callbacks = [callback() if isinstance(callback, type) else callback for callback in callbacks]
        model.to_device()
        self._call("on_init_end")

    def _call(self, event):
        for callback in self.callbacks:
            getattr(callback, event)("args", "state", "control", model=self.model)

    def train(self, batches):
        self._call("on_train_begin")
        self._call("on_epoch_begin")
        for batch in batches:
            self._call("on_step_begin")
            self.model.training_step(batch)
            self._call("on_substep_end")
            self.model.optimizer.step()
            self._call("on_step_end")
        self._call("on_epoch_end")
        self._call("on_train_end")
