import { execFileSync } from "node:child_process";
import { appendFileSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { openSession } from "@bonsai-agent/session";
import { expect, test } from "vitest";
import { agentProject } from "./call/agent-project.ts";
import { header, testFolder, writeLines } from "./call/sample-session.ts";
import { jsonOf, runCli } from "./run-cli.ts";

const extension = fileURLToPath(new URL("../../../extensions/git-checkpoint", import.meta.url));

test("a session continues in another home and clone, and its checkpoint restores the files there", async () => {
  const turn = [
    { calls: [{ name: "write", arguments: { path: "a.txt", content: "changed\n" } }] },
    { text: "Done." },
  ];
  const { cwd, env, model } = agentProject(
    { contextWindow: 100_000, turn, atEnd: "repeat" },
    { "a.txt": "old\n" },
  );
  const shell = (script: string) => execFileSync("/bin/sh", ["-c", script], { cwd, encoding: "utf8" });
  shell("git init -q && git add -A && git -c user.name=A -c user.email=a@b commit -qm begin");
  const [clone, home] = [join(testFolder(), "clone"), testFolder()];
  shell(`git clone -q . '${clone}'`);
  const flags = [...model, "-e", extension];
  expect(await runCli(["-p", ...flags, "change it"], { cwd, env })).toMatchObject({ code: 0 });
  const [{ id }] = await jsonOf<[{ id: string }]>(["session", "list"], { cwd, env });
  const archive = join(testFolder(), "session.bonsai");
  await jsonOf(["session", "export", id, archive], { cwd, env });

  const there = { cwd: clone, env: { ...env, BONSAI_HOME: home } };
  const { file } = await jsonOf<{ file: string }>(["session", "import", archive], there);
  const session = openSession(file);
  const last = session.entries().findLast((entry) => entry.type === "custom");
  session.close();
  writeFileSync(join(clone, "a.txt"), "something else\n");
  const fork = ["--fork", `${id}:${last!.id}`, "--checkpoint-restore"];
  const scenario = join(testFolder(), "talk.json");
  writeFileSync(scenario, JSON.stringify({ turn: [{ text: "Hello." }], atEnd: "repeat" }));
  const { code } = await runCli(
    ["-p", "--model", `scripted/${scenario}`, "-e", extension, ...fork, "hi"],
    there,
  );
  expect([code, readFileSync(join(clone, "a.txt"), "utf8")]).toEqual([0, "changed\n"]);
});

test("redaction reads a line of 20 MB", async () => {
  const folder = testFolder();
  const secret = "sk-ant-api03-AbCdEfGhIjKlMnOpQrStUv12";
  const line = JSON.stringify({
    type: "other",
    id: "0000000a",
    parentId: null,
    text: "y".repeat(20_000_000),
    secret,
  });
  const path = writeLines([header]);
  appendFileSync(path, `${line}\n`);
  await jsonOf(["session", "export", path, "long.bonsai"], { cwd: folder });
  const { file } = await jsonOf<{ file: string }>(["session", "import", "long.bonsai", "-o", "long.jsonl"], {
    cwd: folder,
  });
  expect(readFileSync(file, "utf8").endsWith(`${line.replace(secret, "[redacted: API key]")}\n`)).toBe(true);
});
