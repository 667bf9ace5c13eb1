# lit: RUN lines of the .mlir files, each with the built smet-opt and FileCheck.
import os

import lit.formats

config.name = "smet"
config.test_format = lit.formats.ShTest(True)
config.suffixes = [".mlir", ".test"]
config.excludes = ["unit", "Inputs"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = config.smet_obj_root + "/test"
path = [config.smet_tools_dir, config.llvm_tools_dir, config.environment.get("PATH", "")]
config.environment["PATH"] = os.pathsep.join(path)
