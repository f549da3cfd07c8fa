import { readFileSync } from "node:fs";
import { join } from "node:path";
import { everyRow } from "@bonsai-agent/testkit";
import { expect, test } from "vitest";
import { writeClipboard } from "../src/host/clipboard.ts";
import { on } from "./desk.ts";

test("skips programs that fail or hang", async () => {
  const scripts = { "wl-copy": "exit 1", xclip: "sleep 1000", tmux: 'cat > "$(dirname "$0")/copied"' };
  const options = on({ scripts, variables: { TMUX: "/tmp/tmux,1,0" }, timeoutMs: 2_000 });
  expect(await writeClipboard("grün\n", options)).toBe("tmux");
  expect(readFileSync(join(options.env!.PATH!, "copied"), "utf8")).toBe("grün\n");
});

test("does not wait for a background process that serves the clipboard", async () => {
  const scripts = { "wl-copy": "cat > /dev/null; sleep 20 & exit 0" };
  expect(await writeClipboard("text", on({ scripts }))).toBe("wl-copy");
  expect(await writeClipboard("text", on({ scripts: {} }))).toBeUndefined();
});

test("writes the clipboard that the user sees", () =>
  everyRow([
    [{}, "wl-copy"],
    [{ SSH_TTY: "/dev/pts/1" }, undefined],
    [{ SSH_CONNECTION: "1 2 3 4", DISPLAY: "localhost:10.0" }, "xclip"],
    [{ SSH_TTY: "/dev/pts/1", TMUX: "/tmp/tmux,1,0" }, "tmux"],
    [{ WSL_INTEROP: "/run/WSL/1" }, "clip.exe"],
  ] as const)(async ([variables, by]) => {
    const takes = "cat > /dev/null";
    const scripts = { "wl-copy": takes, xclip: takes, "clip.exe": takes, tmux: takes };
    expect(await writeClipboard("text", on({ scripts, variables }))).toBe(by);
  }));
