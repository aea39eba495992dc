"""The types that are raced: what each is called by the library, by PyTorch and in results."""
from dataclasses import dataclass


@dataclass(frozen=True)
class Kind:
    """A and B have one type, D is f16 and sums are f32. All matrices are row-major, but B is given transposed
    (op(B) is column-major) where the layout is nt."""
    name: str
    torch_type: str
    number: int  # of tunedgemm_type
    element_bytes: int
    layout: str
    numerics: str

    @property
    def is_fp8(self) -> bool:
        return self.element_bytes == 1

    @property
    def types(self) -> str:
        """As results have it."""
        return f"{self.name}→f16" + (f" {self.numerics}" if self.is_fp8 else "")

    def slack(self, k: int) -> float:
        """An element of D may be wrong by this times (sqrt(K) + its magnitude), if the inputs are normally
        distributed. For f16 that is four roundings of D, as a vendor may add up split-K slices in f16. Tensor cores keep
        some 14 bits of a sum of fp8 products and cut the rest after every 32 of K."""
        return 2**-6 * (1 + k / 4096) if self.is_fp8 else 2**-9

    def problem_text(self, size: int) -> str:
        """M = N = K = size as the cache spells it."""
        def matrix(letter: str, kind: str, order: str, element_bytes: int) -> str:
            row_bytes = size * element_bytes
            return f"{letter}={kind},{order},{size},0,{min(row_bytes & -row_bytes, 16)}"

        order_b = "col" if self.layout == "nt" else "row"
        matrices = (("a", self.name, "row", self.element_bytes), ("b", self.name, order_b, self.element_bytes),
                    ("c", "f16", "row", 2), ("d", "f16", "row", 2))
        return (f"m={size} n={size} k={size} batch=1 {' '.join(matrix(*one) for one in matrices)} c_is_d=0 alpha=one "
                f"beta=zero activation=none bias=none numerics={self.numerics} regime=cold")


KINDS = {kind.name: kind for kind in (Kind("f16", "float16", 3, 2, "nn", "ieee"),
                                      Kind("e5m2", "float8_e5m2", 6, 1, "nt", "fast"))}
