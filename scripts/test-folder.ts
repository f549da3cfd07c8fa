import { chmodSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";

/** Gives a run of the tests a temporary folder of its own, and removes it afterwards. */
export default function setup(): () => void {
  const folder = mkdtempSync(join(tmpdir(), "bonsai-tests-"));
  // Some tests continue as another user.
  chmodSync(folder, 0o755);
  process.env.TMPDIR = folder;
  // Tests read and write nothing in the user's home, except the registry settings of npm.
  process.env.npm_config_userconfig ??= join(homedir(), ".npmrc");
  process.env.npm_config_cache ??= join(homedir(), ".npm");
  const home = join(folder, "home");
  mkdirSync(home);
  process.env.HOME = home;
  process.env.USERPROFILE = home;
  delete process.env.BONSAI_HOME;
  // Programs that tests start are compiled once.
  process.env.NODE_COMPILE_CACHE = join(folder, "compiled");
  return () => rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
}
