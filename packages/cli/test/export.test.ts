import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { everyRow } from "@bonsai-agent/testkit";
import { expect, test } from "vitest";
import { sampleLines, testFolder, writeLines } from "./call/sample-session.ts";
import { jsonOf, runCli } from "./run-cli.ts";

test("bonsai export prints Markdown, or writes it", async () => {
  const file = writeLines(sampleLines());
  const { stdout } = await runCli(["export", file]);
  expect(stdout).toContain("Never use floats for money.");
  expect(stdout).not.toContain("Try a cache");
  const target = join(testFolder(), "session.md");
  const report = await jsonOf<{ format: string; file: string; sizeBytes: number }>([
    "export",
    file,
    "-o",
    target,
  ]);
  expect(report).toEqual({ format: "markdown", file: target, sizeBytes: Buffer.byteLength(stdout) });
  expect(readFileSync(target, "utf8")).toBe(stdout);
  expect(await jsonOf(["export", file])).toEqual({ format: "markdown", text: stdout });
});

test("bonsai export shows another branch, or all", async () => {
  const file = writeLines(sampleLines());
  expect((await runCli(["export", file, "--leaf", "bbbb0002"])).stdout).toContain("Try a cache");
  const all = (await runCli(["export", file, "--all"])).stdout;
  expect(all).toContain("Try a cache");
  expect(all).toContain("Never use floats for money.");
});

test("a key of the environment is in no export, also if models.json is unreadable", () =>
  everyRow(["session.md", "session.html"])(async (name) => {
    const home = testFolder();
    writeFileSync(join(home, "models.json"), '{ "providers": ');
    const secret = "a key that looks like words";
    const lines = sampleLines().map((line) => JSON.parse(JSON.stringify(line)));
    const said = lines.find(({ message }) => message?.role === "user");
    said.message.content = `Use ${secret} here.`;
    const target = join(testFolder(), name);
    const env = { BONSAI_HOME: home, ANTHROPIC_API_KEY: `${secret}\n` };
    const { code, stderr } = await runCli(["export", writeLines(lines), target], { env });
    expect(code).toBe(0);
    expect(stderr).toContain("ignores the models");
    const packed = [...readFileSync(target, "utf8").matchAll(/octet-stream"[^>]*>([^<]*)</g)];
    const unpacked = packed.map(([, base64]) => gunzipSync(Buffer.from(base64!, "base64")).toString());
    const content = [readFileSync(target, "utf8"), ...unpacked].join("\n");
    expect(content).toContain("[redacted: stored key] here.");
    expect(content).not.toContain(secret);
  }));

test("bonsai export overwrites nothing, least of all the session", async () => {
  const file = writeLines(sampleLines());
  const before = readFileSync(file);
  const { code, stderr } = await runCli(["export", file, "-o", file, "--json"]);
  expect(code).toBe(1);
  expect(JSON.parse(stderr).error.code).toBe("output_exists");
  expect(readFileSync(file).equals(before)).toBe(true);
});

test.for([
  ["a.b.json", "a.b"],
  ["x.pdf", "x"],
  [".pdf", "session"],
] as const)("bonsai export refuses the format of %s", async ([name, stem]) => {
  const target = join(testFolder(), name);
  const { code, stderr } = await runCli(["export", writeLines(sampleLines()), "-o", target, "--json"]);
  expect(code).toBe(1);
  expect(JSON.parse(stderr).error).toEqual({
    code: "export_format_unknown",
    message: `Cannot export to ${name}: a session is exported as Markdown (.md), as a page (.html) or for another machine (.bonsai).`,
    hint: `Use ${stem}.md, ${stem}.html or ${stem}.bonsai.`,
  });
  expect(existsSync(target)).toBe(false);
});

test.for(["x.html", "x.HTM"])(
  "bonsai export writes a page into %s, which runs nothing but its own",
  async (name) => {
    const target = join(testFolder(), name);
    const { code, stdout } = await runCli(["export", writeLines(sampleLines()), target, "--json"]);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ format: "html", file: target, redacted: 0 });
    const page = readFileSync(target, "utf8");
    expect(page).toMatch(/^<!doctype html>/);
    expect(page).toContain("default-src 'none'; script-src 'sha256-");
    expect(page).not.toContain("Never use floats for money.");
  },
);

test.for(["x.md", "x.Markdown", "x.txt", "x", "notes-v1.2"])("bonsai export writes %s", async (name) => {
  const target = join(testFolder(), name);
  expect((await runCli(["export", writeLines(sampleLines()), "-o", target])).code).toBe(0);
  expect(readFileSync(target, "utf8")).toContain("Never use floats for money.");
});
