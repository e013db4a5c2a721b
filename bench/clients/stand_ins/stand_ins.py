"""Lets the Python clients of vLLM and SGLang run without their engines: what they import from the server side, and never use
while they measure, is replaced by empty names; the client's own modules run as they are."""
import importlib.abc
import importlib.machinery
import importlib.util
import sys
import types


class _Name(type):
    """A class that stands for anything: attributes, calls and subscripts give such names again."""

    def __getattr__(cls, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return _Name(name, (), {})

    def __getitem__(cls, item):
        return cls

    def __or__(cls, other):
        return cls

    __ror__ = __or__


class _Empty(types.ModuleType):
    """A module in which every name can be imported."""
    __path__ = []

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        value = _Name(name, (), {"__module__": self.__name__})
        setattr(self, name, value)
        return value

    def __bool__(self):
        return False


class Absent:
    """vLLM's mark for an optional package that is not installed."""

    def __init__(self, name):
        self.name = name

    def placeholder_attr(self, attribute):
        return Absent(f"{self.name}.{attribute}")


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def __init__(self, package, real):
        self.package, self.real = package, real

    def find_spec(self, name, path=None, target=None):
        if not name.startswith(self.package + "."):
            return None
        own = name[len(self.package) + 1:]
        if any(own == r or own.startswith(r + ".") for r in self.real):
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec):
        return _Empty(spec.name)

    def exec_module(self, module):
        pass


def install(package, real, missing=(), names=None):
    """`package` is on the path, but its __init__ does not run. `real`: modules of it that run as they are. `missing`: outside
    packages replaced when they are not installed. `names`: {module: {name: value}} to put into replaced modules."""
    folder = next(f for f in (importlib.util.find_spec(package).submodule_search_locations or []))
    base = types.ModuleType(package)
    base.__path__ = [folder]
    base.__version__ = ""
    sys.modules[package] = base
    sys.meta_path.insert(0, _Finder(package, tuple(real)))
    for name in missing:
        if importlib.util.find_spec(name) is None:
            sys.modules[name] = _Empty(name)
            sys.modules[name].__spec__ = importlib.machinery.ModuleSpec(name, None)
    for module, values in (names or {}).items():
        __import__(module)
        for name, value in values.items():
            setattr(sys.modules[module], name, value)


def tokenizer(name, *_, **__):
    from transformers import PreTrainedTokenizerFast
    return PreTrainedTokenizerFast.from_pretrained(name)
