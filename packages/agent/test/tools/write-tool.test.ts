import {
  chmodSync,
  chownSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  truncateSync,
} from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { textOf, toolFolder } from "./tool-folder.ts";

test("a new file and its folders are made", async () => {
  using folder = toolFolder();
  const result = await folder.run("write", { path: "a/b/c.txt", content: "one\ntwo\n" });
  expect(folder.text("a/b/c.txt")).toBe("one\ntwo\n");
  expect(textOf(result)).toBe("Created a/b/c.txt (8 bytes, 2 lines).");
  expect(result.details).toEqual({ path: "a/b/c.txt", created: true, added: 2, removed: 0 });
});

test("a file is replaced, keeps its mode, and leaves nothing beside it", async () => {
  using folder = toolFolder();
  chmodSync(folder.write("run.sh", "one\ntwo\n"), 0o755);
  const result = await folder.run("write", { path: "run.sh", content: "one\n2\n3\n" });
  expect(folder.text("run.sh")).toBe("one\n2\n3\n");
  expect(statSync(join(folder.path, "run.sh")).mode & 0o777).toBe(0o755);
  expect(readdirSync(folder.path)).toEqual(["run.sh"]);
  expect(result.details).toMatchObject({ created: false, added: 2, removed: 1, firstChangedLine: 2 });
});

test("a file keeps its group", async () => {
  using folder = toolFolder();
  const file = folder.write("a", "x");
  const another = process.getgroups?.().find((group) => group !== statSync(file).gid) ?? 1;
  // A user with one group, without root, has no other to give: then the file keeps its group.
  if (process.getuid?.() === 0 || process.getgroups?.().includes(another)) chownSync(file, -1, another);
  const { gid } = statSync(file);
  await folder.run("write", { path: "a", content: "y" });
  expect([folder.text("a"), statSync(file).gid]).toEqual(["y", gid]);
});

test("replaces a file that is too large for a diff", async () => {
  using folder = toolFolder();
  const file = folder.write("log", "one\ntwo");
  truncateSync(file, (5 << 20) + 1);
  const result = await folder.run("write", { path: "log", content: "new\n" });
  expect(folder.text("log")).toBe("new\n");
  expect(result.details).toMatchObject({ created: false, added: 1, removed: 2 });
});

test("the same content is not written again", async () => {
  using folder = toolFolder();
  folder.write("a", "x");
  expect(textOf(await folder.run("write", { path: "a", content: "x" }))).toContain("nothing was written");
});

test("a hard link stays one", async () => {
  using folder = toolFolder();
  linkSync(folder.write("a", "x"), join(folder.path, "b"));
  await folder.run("write", { path: "a", content: "y" });
  expect(folder.text("b")).toBe("y");
});

test("a symbolic link stays one; what it leads to is written, also when it is not there yet", async () => {
  using folder = toolFolder();
  folder.write("target", "x");
  symlinkSync("target", join(folder.path, "link"));
  symlinkSync("later", join(folder.path, "dangling"));
  await folder.run("write", { path: "link", content: "y" });
  await folder.run("write", { path: "dangling", content: "z" });
  expect([folder.text("target"), folder.text("later")]).toEqual(["y", "z"]);
});

const refusals = [
  ["a folder", "folder", "Writing folder failed: it is a folder."],
  ["a file for a folder", "file/x", "Writing file/x failed: a part of the path is a file, not a folder."],
  ["a name that ends like a folder's", "new/", "new/ is a folder."],
  ["a NUL", "a\0b", 'The path "a\\u0000b" contains a NUL character.'],
] as const;
test("refuses a path that is no file", async () => {
  for (const [name, path, expected] of refusals) {
    using folder = toolFolder();
    mkdirSync(join(folder.path, "folder"));
    folder.write("file", "x");
    await expect.soft(folder.run("write", { path, content: "y" }), name).rejects.toThrow(expected);
  }
});

test("a write that was stopped before its turn changes nothing", async () => {
  using folder = toolFolder();
  await expect(
    folder.run("write", { path: "a", content: "x" }, { signal: AbortSignal.abort() }),
  ).rejects.toThrow();
  expect(readdirSync(folder.path)).toEqual([]);
});

test("a reader sees the old or the new, never a part", async () => {
  using folder = toolFolder();
  const versions = ["a", "b"].map((letter) => letter.repeat(100_000));
  const file = folder.write("big", versions[0]!);
  const seen = new Set<string>();
  let isWriting = true;
  const reading = (async () => {
    while (isWriting) {
      seen.add(readFileSync(file, "latin1"));
      await new Promise(setImmediate);
    }
  })();
  for (let round = 1; round < 12; round += 1) {
    await folder.run("write", { path: "big", content: versions[round % 2]! });
  }
  isWriting = false;
  await reading;
  expect([...seen].filter((text) => !versions.includes(text))).toEqual([]);
});

test("edits and writes of one file side by side lose nothing, by whatever name it is called", async () => {
  using folder = toolFolder();
  const names = Array.from({ length: 20 }, (_, index) => `word${index}.`);
  folder.write("a.txt", names.join("\n"));
  symlinkSync("a.txt", join(folder.path, "link.txt"));
  await Promise.all(
    names.map((name, index) =>
      folder.run("edit", {
        path: index % 2 === 0 ? "a.txt" : "./link.txt",
        oldText: name,
        newText: `<${name}>`,
      }),
    ),
  );
  expect(folder.text("a.txt")).toBe(names.map((name) => `<${name}>`).join("\n"));
});

test("a call that fails does not hold up the next for the same file", async () => {
  using folder = toolFolder();
  folder.write("a", "x");
  const [failed, made] = await Promise.allSettled([
    folder.run("edit", { path: "a", oldText: "missing", newText: "y" }),
    folder.run("edit", { path: "a", oldText: "x", newText: "y" }),
  ]);
  expect([failed.status, made.status]).toEqual(["rejected", "fulfilled"]);
  expect(folder.text("a")).toBe("y");
});

const lookalikes = [
  ["U\u0308bersicht.md", "Übersicht.md"],
  ["Shot 3.00\u202fPM.md", "Shot 3.00 PM.md"],
  ["it\u2019s.md", "it's.md"],
  ["no\u00a0break/a.md", "no break/a.md"],
] as const;
test("writes to the file whose name looks the same", async () => {
  for (const [existing, written] of lookalikes) {
    using folder = toolFolder();
    folder.write(existing, "old\n");
    await folder.run("write", { path: written, content: "new\n" });
    expect.soft(folder.text(existing), existing).toBe("new\n");
    expect.soft(textOf(await folder.run("read", { path: written })), existing).toBe("new\n");
    await folder.run("edit", { path: written, oldText: "new", newText: "edited" });
    expect.soft(folder.text(existing), existing).toBe("edited\n");
  }
});

test("creates a new file in the folder whose name looks the same", async () => {
  using folder = toolFolder();
  folder.write("e\u0301te\u0301/a.md", "");
  const result = await folder.run("write", { path: "été/neu/b.md", content: "b\n" });
  expect(folder.text("e\u0301te\u0301/neu/b.md")).toBe("b\n");
  expect(textOf(result)).toContain("e\u0301te\u0301/neu/b.md");
});

test("leaves files alone if two names look the same", async () => {
  using folder = toolFolder();
  for (const name of ["a\u00a0b.md", "a\u202fb.md"]) folder.write(name, "old\n");
  await folder.run("write", { path: "a b.md", content: "new\n" });
  expect(folder.text("a\u00a0b.md")).toBe("old\n");
  expect(folder.text("a b.md")).toBe("new\n");
});
