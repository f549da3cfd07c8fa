import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { agentProject, says } from "./agent-project.ts";

/** A module that says its name when a session starts. */
const named = (name: string) =>
  `export default (bonsai) => { bonsai.on("session_start", (_, ctx) => ctx.ui.notify("${name} is here")); }`;

function put(folder: string, ...names: string[]): void {
  mkdirSync(folder, { recursive: true });
  for (const name of names) writeFileSync(join(folder, `${name}.ts`), named(name));
}

test("a call without extensions does not load the extension runner", () => {
  const project = agentProject(says("ok"));
  const hook = `import { registerHooks } from "node:module";
    registerHooks({ load: (url, context, next) => { process.stderr.write(url + "\\n"); return next(url, context); } });`;
  const main = fileURLToPath(new URL("../src/main.ts", import.meta.url));
  const loaded = () => {
    const { stderr, stdout } = spawnSync(
      process.execPath,
      [
        "--conditions=@bonsai-agent/source",
        "--no-warnings",
        `--import=data:text/javascript,${encodeURIComponent(hook)}`,
        ...[main, "-p", "hi", ...project.model],
      ],
      { cwd: project.cwd, env: { ...process.env, ...project.env }, encoding: "utf8" },
    );
    expect(stdout).toBe("ok\n");
    return stderr;
  };
  expect(loaded()).not.toMatch(/packages\/(extension|pi-adapter|transcripts)\//);
  put(join(project.home, "extensions"), "users");
  expect(loaded()).toMatch(/packages\/extension\//);
});
