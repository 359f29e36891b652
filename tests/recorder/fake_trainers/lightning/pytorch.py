# SPDX-License-Identifier: Apache-2.0
"""As much of Lightning as a callback meets: the hooks of Trainer.fit in their order."""


class Callback:
    def setup(self, trainer, pl_module, stage):
        pass

    def on_train_start(self, trainer, pl_module):
        pass

    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        pass

    def on_exception(self, trainer, pl_module, exception):
        pass

    def teardown(self, trainer, pl_module, stage):
        pass


class Trainer:
    def __init__(self, callbacks, accumulate_grad_batches=1):
        self.callbacks, self.accumulate, self.global_step = callbacks, accumulate_grad_batches, 0

    def _call(self, hook, *args):
        for callback in self.callbacks:
            if not isinstance(callback, Callback):
                raise TypeError(f"{callback} is no Callback")
            getattr(callback, hook)(self, *args)

    def validate(self, module):
        self._call("setup", module, "validate")
        self._call("teardown", module, "validate")

    def fit(self, module, batches):
        self._call("setup", module, "fit")
        module.to_device()
        try:
            self._call("on_train_start", module)
            for i, batch in enumerate(batches):
                module.training_step(batch)
                if (i + 1) % self.accumulate == 0:
                    module.optimizer.step()
                    self.global_step += 1
                self._call("on_train_batch_end", module, None, batch, i)
        except BaseException as error:
            self._call("on_exception", module, error)
            raise
        self._call("teardown", module, "fit")
