import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { agentProject } from "../call/agent-project.ts";
import { openInteractive } from "./harness.ts";

const QUESTION = "Use your models, keys and settings of pi?";

/** A user of pi who starts Bonsai for the first time. */
function piUser() {
  const own = agentProject({ turn: [{ text: "Hello back." }] });
  const pi = join(own.home, "..", "pi-agent");
  mkdirSync(pi, { recursive: true });
  writeFileSync(join(pi, "settings.json"), '{ "externalEditor": "vim", "quietStartup": true }');
  for (const name of ["settings.json", "models.json", "auth.json"])
    rmSync(join(own.home, name), { force: true });
  return { project: own, env: { PI_CODING_AGENT_DIR: pi } };
}

test("the first start offers to take over pi's settings, and tells what it took and left", async () => {
  const user = piUser();
  const { terminal } = openInteractive(user);
  await terminal.until(QUESTION);
  expect(existsSync(join(user.project.home, "settings.json"))).toBe(false);
  terminal.type("y\n");
  await terminal.until("Took from pi: setting editor.");
  await terminal.until("quietStartup. Bonsai has no counterpart for it.");
  expect(JSON.parse(readFileSync(join(user.project.home, "settings.json"), "utf8"))).toEqual({
    editor: "vim",
  });
});

test("a no changes nothing, and the next start does not ask again", async () => {
  const user = piUser();
  const first = openInteractive(user);
  await first.terminal.until(QUESTION);
  first.terminal.type("n\n");
  await first.terminal.until("/help");
  await first.end();
  expect(existsSync(join(user.project.home, "settings.json"))).toBe(false);
  const { terminal } = openInteractive(user);
  await terminal.until("/help");
  expect(terminal.scrollback()).not.toContain(QUESTION);
});
