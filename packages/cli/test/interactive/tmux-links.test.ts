import { chmodSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setCapabilityOverrides } from "@earendil-works/pi-tui";
import { expect, onTestFinished, test } from "vitest";
import { says } from "../call/agent-project.ts";
import { openInteractive } from "./harness.ts";

/** A tmux that answers with this line of shell. */
function tmux(answer: string): Record<string, string> {
  const folder = mkdtempSync(join(tmpdir(), "bonsai-tmux-"));
  writeFileSync(join(folder, "tmux"), `#!/bin/sh\n${answer}\n`);
  chmodSync(join(folder, "tmux"), 0o755);
  return { PATH: `${folder}:${process.env.PATH}`, TMUX: "/nowhere,1,0" };
}

async function drawn(env: Record<string, string>) {
  onTestFinished(() => setCapabilityOverrides({}));
  const { terminal } = openInteractive({ env, scenario: says("See [the page](https://example.com/page).") });
  await terminal.until("scripted");
  terminal.type("Where?\n");
  await terminal.until("See the page");
  return terminal;
}

test("links are links if tmux passes them on", async () => {
  const terminal = await drawn(tmux("echo bpaste,hyperlinks,title"));
  await terminal.until((screen) => !screen.includes("https://example.com"));
  expect(terminal.written.join("")).toContain("\u001b]8;;https://example.com/page");
});

test("links are written in full if tmux does not answer", async () => {
  const terminal = await drawn(tmux("exec tail -f /dev/null"));
  expect(terminal.screen()).toContain("the page (https://example.com/page)");
});
