"""Memory that processes share (hipIpcGetMemHandle), under fadeprobe check and without."""
import os
import subprocess
import unittest

import fade
from fade import PROBE, program

IPC = program("ipc")
CHECK = [PROBE, "check", "--"]
PLAIN = [PROBE, "-l", "/dev/null", "--"]


class Tests(fade.Test):
    def both(self, command, mode, env=None):
        os.makedirs(self.path("pipes"))
        result = self.bare([*command, IPC, "both", mode, self.path("pipes")], env)
        self.assertEqual((result.code, sorted(result.stdout.split())), (0, ["given", "taken"]), result.stderr)
        return result.stderr

    def test_clean(self):
        self.assertIn("check: no findings in 2 dispatches\n", self.both(CHECK, "clean"))

    def test_overrun(self):
        said = self.both(CHECK, "overrun")
        self.assertRegex(said, r"memory: store of 4 bytes, right after allocation \d+, 4,000 bytes, hipIpcOpenMemHandle at ipc.hip:\d+ \(8 times\)\n")
        self.assertIn("check: 1 finding (memory 1) in 2 dispatches\n", said)

    def test_use_after_close(self):
        said = self.both(CHECK, "closed")
        self.assertRegex(said, r"memory: store of 4 bytes in freed memory: allocation \d+, 4,000 bytes, hipIpcOpenMemHandle at ipc.hip:\d+, freed at ipc.hip:\d+ \(1,000 times\)\n")
        self.assertIn("check: 1 finding (memory 1) in 3 dispatches\n", said)

    def test_by_dmabuf(self):
        """ROCr 6.4 and later send descriptors, or handles of the KFD, as they are told."""
        self.both(PLAIN, "clean", {"HSA_ENABLE_IPC_MODE_LEGACY": "0"})

    def test_by_kfd_handle(self):
        self.both(PLAIN, "clean", {"HSA_ENABLE_IPC_MODE_LEGACY": "1"})

    def one_checked(self, of_giver, of_taker):
        for pipe in ("there", "back"):
            os.mkfifo(self.path(pipe))
        started = [subprocess.Popen([*command, IPC, role, "clean", self.dir], env=fade.clean_environment({}), text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                   for command, role in ((of_giver, "give"), (of_taker, "take"))]
        said = [each.communicate(timeout=100) for each in started]
        self.assertEqual([(each.returncode, out) for each, (out, _) in zip(started, said)], [(0, "given\n"), (0, "taken\n")], said)
        checked = said[0 if of_giver == CHECK else 1][1]
        self.assertIn("check: no findings in 1 dispatch\n", checked)

    def test_only_the_owner_is_checked(self):
        self.one_checked(CHECK, PLAIN)

    def test_only_who_opens_it_is_checked(self):
        self.one_checked(PLAIN, CHECK)


if __name__ == "__main__":
    unittest.main()
