import { spawnSync } from "node:child_process";

/** A zombie that nobody has collected yet has ended. */
export function isRunning(pid: number): boolean {
  const { stdout } = spawnSync("ps", ["-o", "state=", "-p", String(pid)], { encoding: "utf8" });
  return stdout !== "" && !stdout.startsWith("Z");
}
