import { chmodSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ClipboardOptions } from "../src/host/clipboard.ts";

/** Makes a folder with these programs, each a script of the shell. */
function programs(scripts: Record<string, string>): string {
  const folder = mkdtempSync(join(tmpdir(), "bonsai-clipboard-"));
  for (const [name, script] of Object.entries(scripts)) {
    writeFileSync(join(folder, name), `#!/bin/sh\nPATH=/usr/bin:/bin\n${script}\n`);
    chmodSync(join(folder, name), 0o755);
  }
  return folder;
}

interface Desk extends ClipboardOptions {
  scripts: Record<string, string>;
  variables?: Record<string, string>;
}

/** Options for a desktop on which only these programs are installed. */
export function on({
  scripts,
  variables = { WAYLAND_DISPLAY: "wayland-0" },
  ...options
}: Desk): ClipboardOptions {
  return { platform: "linux", ...options, env: { PATH: programs(scripts), ...variables } };
}
