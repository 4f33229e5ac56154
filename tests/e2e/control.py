"""fadeprobe control run by root for a process of somebody else: nothing is made, changed or given away that this user could not
have made or changed himself."""
import os
import shutil
import stat
import subprocess
import threading
import unittest

import fade
from fade import PROBE

USER = 65534  # somebody without any rights


@unittest.skipUnless(os.geteuid() == 0 and shutil.which("setpriv"), "only root can act for others")
class Tests(fade.Test):
    def setUp(self):
        super().setUp()
        os.chmod(self.dir, 0o755)
        self.theirs = self.path("theirs")
        os.mkdir(self.theirs)
        os.chown(self.theirs, USER, USER)

    def sleeper(self, trace, program="sleep"):
        """A process of another user, who says where its events go."""
        words = ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups", "env", f"FADE_TRACE={trace}", "FADE_TRACE_FORMAT=events",
                 program, "60"]
        process = subprocess.Popen(words, env=fade.clean_environment({}))
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        name = os.path.basename(program)
        while True:  # until the program runs that was meant
            with open(f"/proc/{process.pid}/comm") as file:
                if file.read().strip() == name[:15]:
                    return process.pid

    def control(self, pid, what="status"):
        return self.bare([PROBE, "control", what, pid])

    def refused(self, pid):
        result = self.control(pid)
        self.assertEqual((result.code, result.stdout, result.stderr.count("\n")), (1, "", 1), result.stderr)
        return result.stderr

    def test_a_file_is_made_with_the_rights_of_the_processs_user(self):
        trace = os.path.join(self.theirs, "events")
        pid = self.sleeper(trace)
        self.assertEqual(self.control(pid).stdout, f"process {pid} has not used the GPU yet; recording will be on when it does\n")
        made = os.stat(trace)
        self.assertEqual((made.st_uid, made.st_gid), (USER, USER))
        self.assertEqual(self.control(pid, "stop").stdout, f"process {pid} has not used the GPU yet; recording will be off when it does\n")

    def test_no_file_is_made_where_the_processs_user_could_make_none(self):
        trace = self.path("preload")
        said = self.refused(self.sleeper(trace))
        self.assertEqual(said, f"fadeprobe: {trace}: Permission denied\n")
        self.assertFalse(os.path.exists(trace))

    def test_a_file_of_root_stays_as_it_is(self):
        for contents in (b"", b"secret\n"):
            trace = self.path("shadow")
            with open(trace, "wb") as file:
                file.write(contents)
            os.chmod(trace, 0o644)
            before = os.stat(trace)
            self.refused(self.sleeper(trace))
            after = os.stat(trace)
            self.assertEqual([after.st_uid, after.st_gid, after.st_mode, after.st_mtime_ns, after.st_size],
                             [before.st_uid, before.st_gid, before.st_mode, before.st_mtime_ns, before.st_size])

    def test_events_of_root_are_not_given_away(self):
        trace = os.path.join(self.theirs, "events")
        self.assertEqual(self.control(self.sleeper(trace)).code, 0)
        os.chown(trace, 0, 0)
        os.chmod(trace, 0o644)
        self.refused(self.sleeper(trace))
        self.assertEqual(os.stat(trace).st_uid, 0)

    def test_links_lead_nowhere_where_the_processs_user_could_not_go(self):
        link = os.path.join(self.theirs, "link")
        target = self.path("made-by-root")
        os.symlink(target, link)
        self.refused(self.sleeper(link))
        self.assertFalse(os.path.exists(target))
        os.unlink(link)
        os.symlink(self.dir, link)  # a folder
        self.refused(self.sleeper(os.path.join(link, "made-by-root")))
        self.assertFalse(os.path.exists(target))

    def test_names_that_change_meanwhile_give_nothing_away(self):
        secret = self.path("secret")
        with open(secret, "w") as file:
            file.write("secret\n")
        os.chmod(secret, 0o600)
        trace = os.path.join(self.theirs, "events")
        pid = self.sleeper(trace)
        ends = threading.Event()

        def swap():
            spare = os.path.join(self.theirs, "spare")
            while not ends.is_set():
                for make in (lambda: os.symlink(secret, spare), lambda: open(spare, "w").close() or os.chown(spare, USER, USER)):
                    make()
                    os.rename(spare, trace)

        swapping = threading.Thread(target=swap)
        swapping.start()
        try:
            for _ in range(40):
                self.control(pid)
        finally:
            ends.set()
            swapping.join()
        self.assertEqual((os.stat(secret).st_uid, stat.S_IMODE(os.stat(secret).st_mode)), (0, 0o600))
        with open(secret) as file:
            self.assertEqual(file.read(), "secret\n")

    def test_a_program_with_rights_of_its_own_is_left_alone(self):
        # The environment is the user's, the process is root's.
        program = self.path("asroot")
        shutil.copy(shutil.which("sleep"), program)
        os.chmod(program, 0o4755)
        trace = self.path("preload")
        pid = self.sleeper(trace, program)
        with open(f"/proc/{pid}/status") as file:
            if f"Uid:\t{USER}\t0\t0\t0" not in file.read():
                self.skipTest("this file system has no programs with rights of their own")
        self.assertEqual(self.refused(pid),
                         f"fadeprobe: process {pid} was started with another user's rights; its recording cannot be switched\n")
        self.assertFalse(os.path.exists(trace))


if __name__ == "__main__":
    fade.main()
