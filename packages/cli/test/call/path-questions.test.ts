import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import type { FrontEndUI } from "@bonsai-agent/extension/host";
import { expect, test } from "vitest";
import { pathQuestions } from "../../src/call/path-questions.ts";
import { grantPath, pathGrants, revokePath, trustFolder, untrustFolder } from "../../src/call/trust.ts";

type Answer = "No" | "Yes, once" | "for this session" | "always" | undefined;

/** A project, a folder beside it, and a user who answers so, one question after the other. */
function desk(...given: Answer[]) {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "bonsai-paths-")));
  const [cwd, home, other] = ["project", "home", "other"].map((name) => join(root, name)) as [
    string,
    string,
    string,
  ];
  for (const folder of [cwd, home, join(other, "in")]) mkdirSync(folder, { recursive: true });
  writeFileSync(join(other, "a.txt"), "");
  const asked: { title: string; options: readonly string[] }[] = [];
  const ui = {
    select: async (title: string, options: readonly string[]) => {
      asked.push({ title, options });
      const answer = given.shift();
      return answer && options.find((option) => option.includes(answer));
    },
  } as unknown as FrontEndUI;
  const questions = pathQuestions({ cwd, home, allow: [], ui, grants: ["session", "always"] });
  const ask = (path: string, access: "read" | "write" = "read", { session = "one", to = questions } = {}) =>
    to(session)({ path, access, toolName: access, signal: new AbortController().signal });
  return {
    root,
    cwd,
    home,
    other,
    asked,
    ask,
    again: () => pathQuestions({ cwd, home, allow: [], ui, grants: ["session", "always"] }),
  };
}

test.for([
  ["No", false],
  ["Yes, once", true],
  [undefined, false],
] as const)("%s holds for one question", async ([answer, allowed]) => {
  const { ask, asked, other } = desk(answer);
  expect(await ask(join(other, "a.txt"))).toBe(allowed);
  expect(await ask(join(other, "a.txt"))).toBe(false);
  expect(asked).toHaveLength(2);
  expect(asked[0]).toEqual({
    // An answer that named the folder would be cut where the terminal is narrow.
    title: `Read outside the project? The tool read wants to read ${join(other, "a.txt")}. Whole folder: ${other}`,
    options: [
      "No",
      "Yes, once",
      "Yes, the whole folder, for this session",
      "Yes, the whole folder, always in this project",
    ],
  });
});

test("a name with line breaks adds no lines to the question", async () => {
  const { ask, asked, root } = desk("No");
  await ask(join(root, "a\nRead before.\r", "b"));
  expect(asked[0]?.title).toContain("a␊Read before.");
  expect(asked[0]?.title).not.toMatch(/[\n\r]/);
});

test("a session's grant covers only its folder, its access and its session", async () => {
  const { ask, asked, other, home, root } = desk("for this session");
  expect(await ask(join(other, "a.txt"))).toBe(true);
  expect(await ask(join(other, "in", "new", "b.txt"))).toBe(true);
  expect(await ask(other)).toBe(true);
  expect(asked).toHaveLength(1);
  expect(await ask(join(other, "a.txt"), "write")).toBe(false);
  expect(await ask(join(other, "a.txt"), "read", { session: "two" })).toBe(false);
  expect(await ask(join(root, "other-two"))).toBe(false);
  expect(await ask(join(other, "..", "x"))).toBe(false);
  expect(pathGrants(root, home)).toEqual([]);
});

test("a permanent grant holds in later calls of the project until it is revoked", async () => {
  const { ask, again, asked, other, home, cwd, root } = desk("always");
  const to = again();
  expect(await ask(join(other, "a.txt"), "write")).toBe(true);
  expect(await ask(join(other, "a.txt"), "read", { to })).toBe(true);
  expect(asked).toHaveLength(1);
  const grant = { project: cwd, folder: other, access: "write" };
  expect(JSON.parse(readFileSync(join(home, "trust.json"), "utf8"))).toEqual({ folders: [], paths: [grant] });
  expect(pathGrants(root, home)).toEqual([]);
  trustFolder(cwd, home);
  revokePath(pathGrants(cwd, home)[0]!, home);
  expect(await ask(join(other, "a.txt"), "read", { to })).toBe(false);
});

test("revoked trust removes the grants", () => {
  const { cwd, home, other } = desk();
  const grant = { project: cwd, folder: other, access: "read" } as const;
  for (const folder of [cwd, other]) {
    grantPath(grant, home);
    grantPath({ ...grant, access: "write" }, home);
    grantPath(grant, home);
    expect(pathGrants(cwd, home)).toEqual([{ ...grant, access: "write" }]);
    expect(untrustFolder(folder, home)).toBe(true);
    expect(pathGrants(cwd, home)).toEqual([]);
    expect(untrustFolder(folder, home)).toBe(false);
  }
});

test("a link in the place of a granted folder leads nowhere", async () => {
  const { ask, other, home, root, cwd } = desk();
  grantPath({ project: cwd, folder: other, access: "write" }, home);
  rmSync(other, { recursive: true });
  symlinkSync(root, other);
  // What is asked for comes with its links resolved.
  expect(await ask(realpathSync(join(other, "home")))).toBe(false);
});

test("the home folder, its parents and Bonsai's own folder cannot be granted", async () => {
  const { ask, asked, home, root } = desk();
  const paths = ["/x", homedir(), join(homedir(), "x"), home, join(home, "trust.json"), join(root, "x")];
  for (const path of paths) await ask(path);
  expect(asked.map(({ options }) => options)).toEqual(paths.map(() => ["No", "Yes, once"]));
});

test("one answer is that to all questions of its folder that wait", async () => {
  const { ask, asked, other } = desk("for this session");
  const answers = await Promise.all(["a", "b", "c"].map((name) => ask(join(other, name))));
  expect(answers).toEqual([true, true, true]);
  expect(asked).toHaveLength(1);
});

test("without a terminal, only permanent grants hold", async () => {
  const { cwd, home, other, ask } = desk();
  const to = pathQuestions({ cwd, home, allow: [], ui: undefined, grants: ["session", "always"] });
  expect(await ask(other, "read", { to })).toBeUndefined();
  grantPath({ project: cwd, folder: other, access: "read" }, home);
  expect(await ask(other, "read", { to })).toBe(true);
});

test.for(['{"folders": [], "paths": [{"folder": "/x"}]}', '{"folders": [], "paths": {}}'])(
  "a damaged list grants nothing, and is named: %s",
  async (text) => {
    const { ask, home, other } = desk("Yes, once");
    writeFileSync(join(home, "trust.json"), text);
    await expect(ask(other)).rejects.toMatchObject({ code: "settings_invalid" });
  },
);

test("the project and the folders of the settings need no question for any tool", async () => {
  const { cwd, home, other } = desk();
  const to = pathQuestions({ cwd, home, allow: [other], ui: undefined, grants: ["session", "always"] });
  const ask = (path: string) =>
    to()({ path, access: "write", toolName: "write", signal: new AbortController().signal });
  expect(await ask(join(cwd, "a.txt"))).toBe(true);
  expect(await ask(join(other, "in", "a.txt"))).toBe(true);
  expect(await ask(join(home, "a.txt"))).toBeUndefined();
});
