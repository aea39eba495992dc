# The types of _products.py, whose arrays may be those of any library.
from typing import Any, Literal, Optional

from ._core import Context

_Activation = Literal["none", "relu", "leaky_relu", "gelu_tanh", "gelu_erf", "silu", "sigmoid", "tanh", "relu_squared"]
_Numerics = Literal["default", "ieee", "tf32", "emulated", "fast", "promoted"]
_Policy = Literal["default", "tune", "tune_in_background", "compile", "stored", "fail"]

# The result is an array of the library of a.
def matmul(a: Any, b: Any, *, bias: Any = ..., activation: _Activation = ..., out: Any = ..., out_dtype: Any = ..., c: Any = ...,
           alpha: float = ..., beta: float = ..., scale_a: Any = ..., scale_b: Any = ..., slope: float = ..., numerics: _Numerics = ...,
           stream: Optional[int] = ..., context: Optional[Context] = ...) -> Any: ...

class Plan:
    @property
    def description(self) -> str: ...
    def run(self, a: Any, b: Any, *, bias: Any = ..., out: Any = ..., c: Any = ..., scale_a: Any = ..., scale_b: Any = ...,
            stream: Optional[int] = ...) -> Any: ...

def plan(a: Any, b: Any, *, bias: Any = ..., activation: _Activation = ..., out: Any = ..., out_dtype: Any = ..., c: Any = ...,
         alpha: float = ..., beta: float = ..., scale_a: Any = ..., scale_b: Any = ..., slope: float = ..., numerics: _Numerics = ...,
         policy: _Policy = ..., name: Optional[str] = ..., accepted_loss: float = ..., context: Optional[Context] = ...) -> Plan: ...
