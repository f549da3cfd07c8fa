import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Gives a run of the tests a temporary folder of its own, and takes it away with all that the tests left in it. */
export default function setup(): () => void {
  const folder = mkdtempSync(join(tmpdir(), "bonsai-tests-"));
  // Some tests go on as another user.
  chmodSync(folder, 0o755);
  process.env.TMPDIR = folder;
  // Programs that tests start are read and compiled once, not for each start.
  process.env.NODE_COMPILE_CACHE = join(folder, "compiled");
  return () => rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
}
