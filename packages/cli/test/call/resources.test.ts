import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { type AgentNotice, type LifecycleEvents, lifecycleEventRules } from "@bonsai-agent/agent";
import { Lifecycle } from "@bonsai-agent/lifecycle";
import { expect, test } from "vitest";
import type { CliIo } from "../../src/call/io.ts";
import { Resources } from "../../src/call/resources.ts";
import { trustFolder } from "../../src/call/trust.ts";
import { writeFiles } from "./project-files.ts";
import { testFolder } from "./sample-session.ts";

interface Given {
  files?: Readonly<Record<string, string>>;
  options?: Readonly<Record<string, unknown>>;
  isTrusted?: boolean;
  front?: readonly string[];
}

function resourcesWith({ files = {}, options = {}, isTrusted = true, front = [] }: Given = {}) {
  const folder = testFolder();
  for (const name of ["user/.bonsai", "project"]) mkdirSync(join(folder, name), { recursive: true });
  writeFiles(folder, files);
  const home = join(folder, "user/.bonsai");
  const cwd = join(folder, "project");
  if (isTrusted) trustFolder(cwd, home);
  const notices: AgentNotice[] = [];
  const settings = { skills: [] as string[], prompts: [] as string[], themes: [] as string[] };
  const extensions: { name: string }[] = [];
  const lifecycle = new Lifecycle<LifecycleEvents>({ rules: lifecycleEventRules, onNotice: () => {} });
  const resources = new Resources({
    call: {
      io: { cwd, env: { HOME: join(folder, "user"), BONSAI_HOME: home } } as unknown as CliIo,
      options,
      output: { notify: () => {} },
    },
    settings: () => settings,
    lifecycle,
    extensions: { now: { loaded: extensions, commands: extensions } },
    reservedCommands: front,
    onNotice: (notice) => notices.push(notice),
  });
  const names = async () => (await resources.commands()).map(({ name }) => name);
  const sent = async (text: string) => (await resources.expand({ text }))?.text;
  const heard = () => notices.map(({ code, message }) => `${code} ${message}`);
  return { folder, cwd, resources, notices, heard, lifecycle, settings, extensions, names, sent };
}

const skill = (name: string) => `---\nname: ${name}\ndescription: What ${name} does\n---\nDo ${name}.`;

test("templates of the user, of other agents and of a trusted project; skills with them", async () => {
  const { resources, names, sent } = resourcesWith({
    files: {
      "user/.claude/commands/mine.md": "Mine",
      "user/.pi/agent/prompts/pis.md": "Pi's",
      "user/.bonsai/prompts/own.md": "Own",
      "project/.claude/commands/frontend/component.md": "---\nargument-hint: <name>\n---\nMake $1",
      "project/.pi/prompts/own.md": "The project's",
      "project/.agents/skills/pdf/SKILL.md": skill("pdf"),
    },
  });
  await resources.load("startup");
  expect(await names()).toEqual(["frontend:component", "mine", "own", "pis", "skill:pdf"]);
  expect((await resources.commands())[0]).toMatchObject({
    argumentHint: "<name>",
    source: "prompt",
    place: { origin: "project" },
  });
  expect(await sent("/own")).toBe("The project's");
  expect(await resources.expand({ text: "/frontend:component Tree view" })).toEqual({
    text: "Make Tree",
    typed: "/frontend:component Tree view",
    images: [],
  });
  expect(await sent("/skill:pdf a.pdf")).toMatch(/<skill name="pdf"[\s\S]*Do pdf\.[\s\S]*a\.pdf$/);
  for (const text of ["/none", "/skill:none", "say /own", "own", "/usr/bin/own"])
    expect(await resources.expand({ text }), text).toBeUndefined();
});

test("an untrusted project's resources are left out", async () => {
  const { resources, names, sent, notices } = resourcesWith({
    isTrusted: false,
    files: { "project/.claude/commands/x.md": "X", "project/.claude/skills/s/SKILL.md": skill("s") },
  });
  await resources.load("startup");
  expect(await names()).toEqual([]);
  expect(await sent("/x")).toBeUndefined();
  expect(notices).toEqual([]);
});

test("a template's text counts as typed, and its mentioned files are added once", async () => {
  const { resources, sent, heard } = resourcesWith({
    files: {
      "project/.claude/commands/look.md":
        "Look at @a.ts and $1, ask @someone, and @gone.ts and @../user/key.txt",
      "user/.bonsai/prompts/mine.md": "See @../user/key.txt",
      "project/a.ts": "one",
      "project/b.ts": "two",
      "user/key.txt": "secret",
    },
  });
  const quoted = '/look @b.ts\n\n<file path="b.ts">\ntwo\n</file>\n\n<stdin>\nfrom a pipe\n</stdin>';
  expect(await resources.expand({ text: quoted })).toMatchObject({
    typed: "/look @b.ts",
    text: [
      "Look at @a.ts and @b.ts, ask @someone, and @gone.ts and @../user/key.txt",
      '<file path="a.ts">\none\n</file>',
      '<file path="b.ts">\ntwo\n</file>',
      "<stdin>\nfrom a pipe\n</stdin>",
    ].join("\n\n"),
  });
  expect(heard()).toEqual([
    expect.stringMatching(/^prompt_file_left_out .*look\.md: The prompt mentions @gone\.ts/),
    expect.stringMatching(
      /^prompt_file_left_out .*look\.md: It mentions .*key\.txt\. Bonsai did not read this file/,
    ),
  ]);
  expect(await sent("/mine")).toContain("secret");
});

test("commands of a template are not run, and its model is not asked: notices, once", async () => {
  const { sent, heard } = resourcesWith({
    files: { "project/.claude/commands/x.md": "---\nmodel: opus\n---\nSee !`touch ran`" },
  });
  await sent("/x");
  expect(await sent("/x")).toContain("!`touch ran`");
  expect(heard()).toEqual([
    expect.stringMatching(/^prompt_commands_not_run .*touch ran/),
    expect.stringMatching(/^prompt_model_ignored .*opus/),
  ]);
});

test("a command wins over a template of the same name, with a notice", async () => {
  const { names, sent, heard, extensions } = resourcesWith({
    front: ["compact"],
    files: {
      "project/.pi/prompts/compact.md": "C",
      "project/.pi/prompts/todo.md": "T",
      "project/.pi/prompts/x.md": "X",
    },
  });
  extensions.push({ name: "todo" });
  expect(await names()).toEqual(["x"]);
  expect(await sent("/compact")).toBeUndefined();
  expect(heard()).toEqual([
    expect.stringMatching(/^prompt_name_taken .*compact\.md: \/compact is a command of Bonsai/),
    expect.stringMatching(/^prompt_name_taken .*todo\.md: \/todo is a command of an extension/),
  ]);
});

test("settings and flags add folders, and --no-prompt-templates leaves those of flags", async () => {
  const files = { "more/a.md": "A", "one.md": "One", "project/.pi/prompts/p.md": "P" };
  const promptTemplate = ["../one.md"];
  const first = resourcesWith({ files, options: { promptTemplate } });
  first.settings.prompts.push(join(first.folder, "more"), join(first.folder, "gone"));
  expect(await first.names()).toEqual(["a", "one", "p"]);
  expect(first.heard()).toEqual([
    expect.stringMatching(/^resource_missing .*gone: It does not exist, but the settings/),
  ]);
  const only = resourcesWith({ files, options: { promptTemplate, promptTemplates: false } });
  expect(await only.names()).toEqual(["one"]);
  const none = resourcesWith({ files, options: { promptTemplates: false } });
  expect(await none.names()).toEqual([]);
  expect(() => resourcesWith({ options: { skill: ["nowhere"] } })).toThrow(
    /--skill nowhere: .*nowhere does not exist/,
  );
});

test("extensions add folders by resources_discover, again at a reload", async () => {
  const { resources, names, lifecycle, folder, heard } = resourcesWith({
    files: { "ext/a.md": "A", "ext/later.md": "L", "ext/s/SKILL.md": skill("s") },
  });
  expect(await names()).toEqual([]);
  const events: unknown[] = [];
  lifecycle.on("resources_discover", (event) => {
    events.push({ ...event });
    const prompt = event.reason === "startup" ? "a.md" : "later.md";
    return { promptPaths: [join(folder, "ext", prompt)], themePaths: ["look.json"] };
  });
  lifecycle.on("resources_discover", () => ({ skillPaths: [join(folder, "ext/s"), "gone"] }));
  lifecycle.on("resources_discover", () => ({ skillPaths: "wrong" }) as never);
  await resources.load("startup");
  expect(await names()).toEqual(["a", "skill:s"]);
  expect((await resources.places("themes")).at(-1)).toMatchObject({ origin: "extension" });
  expect(heard()).toEqual([expect.stringMatching(/^resource_missing gone: .*an extension names it/)]);
  await resources.load("reload");
  expect(await names()).toEqual(["later", "skill:s"]);
  expect(events).toMatchObject([{ reason: "startup" }, { reason: "reload" }]);
});

test("a reload reads files and settings again", async () => {
  const { resources, names, settings, folder, cwd } = resourcesWith({ files: { "more/a.md": "A" } });
  expect(await names()).toEqual([]);
  writeFiles(cwd, { ".bonsai/prompts/new.md": "New" });
  settings.prompts = [join(folder, "more")];
  expect(await names()).toEqual([]);
  await resources.load("reload");
  expect(await names()).toEqual(["a", "new"]);
});

test("the first mistakes of a folder are named and the others counted", async () => {
  const files = Object.fromEntries(
    Array.from({ length: 8 }, (_, at) => [`project/.pi/prompts/${at}.md`, " "]),
  );
  const { names, heard } = resourcesWith({ files });
  await names();
  expect(heard()).toHaveLength(6);
  expect(heard()[0]).toBe("prompt_unread .pi/prompts/0.md: It contains no prompt.");
  expect(heard().at(-1)).toBe("prompt_unread 3 more files: They have similar problems.");
});

test("an installed package adds its named resources", async () => {
  const { folder, resources, names } = resourcesWith({ files: { "pack/prompts/hi.md": "Hi" } });
  const { installPackage } = await import("../../src/packages/install.ts");
  writeFiles(folder, { "pack/package.json": '{"name": "hello", "version": "1.0.0"}' });
  await installPackage({ home: join(folder, "user/.bonsai"), source: join(folder, "pack"), cwd: folder });
  expect(await names()).toEqual(["hi"]);
  expect((await resources.commands())[0]?.place).toMatchObject({ origin: "package", from: "hello" });
});

test("the resources are listed for an extension without reading them again", async () => {
  const { resources, extensions } = resourcesWith({
    files: { "user/.bonsai/prompts/own.md": "Own", "user/.bonsai/skills/a/SKILL.md": skill("a") },
  });
  const listed = () => resources.readCommands.map(({ name, source }) => [name, source]);
  await resources.load("startup");
  expect(listed()).toEqual([["skill:a", "skill"]]);
  extensions.push({ name: "other" });
  await resources.load("reload");
  expect(listed()).toEqual([
    ["own", "prompt"],
    ["skill:a", "skill"],
  ]);
});

test("a template in a folder named skill is called by its name, unless a skill has it", async () => {
  const { resources, names, sent } = resourcesWith({
    files: {
      "user/.bonsai/prompts/skill/pdf.md": "A template",
      "user/.bonsai/prompts/skill/other.md": "Another",
      "user/.bonsai/skills/pdf/SKILL.md": skill("pdf"),
    },
  });
  await resources.load("startup");
  expect(await names()).toEqual(["skill:other", "skill:pdf"]);
  expect(await sent("/skill:other")).toBe("Another");
  expect(await sent("/skill:pdf")).toContain("Do pdf.");
});

test("extensions can add other folders in another session", async () => {
  const { resources, folder, lifecycle, names } = resourcesWith({
    files: { "first/one.md": "1", "second/two.md": "2" },
  });
  const answers = [join(folder, "first"), join(folder, "second")];
  lifecycle.on("resources_discover", () => ({ promptPaths: answers.splice(0, 1) }));
  await resources.load("startup");
  expect(await names()).toEqual(["one"]);
  await resources.load("startup");
  expect(await names()).toEqual(["two"]);
  await resources.load("startup", AbortSignal.abort());
  expect(await names()).toEqual(["two"]);
});
