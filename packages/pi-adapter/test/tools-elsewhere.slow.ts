import { AsyncResource } from "node:async_hooks";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import { contentText } from "@bonsai-agent/messages";
import { afterEach, expect, test } from "vitest";
import { useContext } from "../src/context-in-use.ts";
import {
  createBashTool,
  createEditTool,
  createGrepTool,
  createLocalBashOperations,
  createReadOnlyTools,
  createReadTool,
  createWriteTool,
  withFileMutationQueue,
} from "../src/modules/coding-agent.ts";
import type { CommandOperations } from "../src/tools/builtin-tool.ts";

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
});

function folder(): string {
  const made = mkdtempSync(join(tmpdir(), "pi-adapter-"));
  folders.push(made);
  return made;
}

function files(entries: Record<string, string>) {
  const known = new Map(Object.entries(entries));
  const operations = {
    access: async (path: string) => {
      if (!known.has(path)) throw new Error(`no ${path}`);
    },
    readFile: async (path: string) => Buffer.from(known.get(path)!),
    writeFile: async (path: string, content: string) => void known.set(path, content),
    mkdir: async () => {},
  };
  return { known, operations };
}

const text = (result: { content: unknown }) => contentText(result.content);

test("files are read, written and edited through operations", async () => {
  const { known, operations } = files({ "/far/a.txt": "one\ntwo\nthree" });
  const read = createReadTool("/far", { operations });
  expect(text(await read.execute("1", { path: "a.txt" }))).toBe("one\ntwo\nthree");
  expect(text(await read.execute("1", { path: "a.txt", offset: 2, limit: 1 }))).toBe("two");
  await expect(read.execute("1", { path: "a.txt", offset: 9 })).rejects.toThrow("has only 3 lines");
  await expect(read.execute("1", { path: "b.txt" })).rejects.toThrow("no /far/b.txt");
  const edit = createEditTool("/far", { operations });
  await edit.execute("1", {
    path: "a.txt",
    edits: [
      { oldText: "one", newText: "$&1" },
      { oldText: "two", newText: "2" },
    ],
  });
  expect(known.get("/far/a.txt")).toBe("$&1\n2\nthree");
  await expect(edit.execute("1", { path: "a.txt", oldText: "zzz", newText: "" })).rejects.toThrow("0 times");
  expect(known.get("/far/a.txt")).toBe("$&1\n2\nthree");
  await createWriteTool("/far", { operations }).execute("1", { path: "sub/c.txt", content: "new" });
  expect(known.get("/far/sub/c.txt")).toBe("new");
});

test("an image is given as one, and a missing operation is named", async () => {
  const { operations } = files({ "/far/a.png": "png" });
  const images = { ...operations, detectImageMimeType: async () => "image/png" };
  expect(await createReadTool("/far", { operations: images }).execute("1", { path: "a.png" })).toEqual({
    content: [
      { type: "text", text: "Image a.png: image/png, 3B." },
      { type: "image", data: Buffer.from("png").toString("base64"), mimeType: "image/png" },
    ],
  });
  await expect(
    createWriteTool("/far", { operations: {} }).execute("1", { path: "x", content: "" }),
  ).rejects.toMatchObject({ code: "pi_operations_missing" });
  expect(() => createGrepTool("/far", { operations: {} })).toThrow(
    expect.objectContaining({ code: "pi_operations_missing" }),
  );
});

test("commands run where a hook says", async () => {
  const here = folder();
  const bash = createBashTool(here, {
    commandPrefix: "export GREETING=hello",
    spawnHook: (context) => ({ ...context, env: { ...context.env, WHO: "there" } }),
  });
  expect(text(await bash.execute("1", { command: 'echo "$GREETING $WHO"; pwd' }))).toContain("hello there");
});

test("commands of this machine give their output and their end", async () => {
  const { exec } = createLocalBashOperations();
  const chunks: Buffer[] = [];
  const onData = (data: Buffer) => chunks.push(data);
  expect(await exec("echo out; echo err >&2; exit 3", folder(), { onData })).toEqual({ exitCode: 3 });
  expect(Buffer.concat(chunks).toString()).toMatch(/out|err/);
  const aborted = AbortSignal.abort(new Error("stopped"));
  await expect(exec("true", folder(), { onData, signal: aborted })).rejects.toThrow("stopped");
});

test("a command that is stopped is ended with all that it started", async () => {
  const controller = new AbortController();
  const onData = () => controller.abort();
  const { exec } = createLocalBashOperations();
  await expect(
    exec("echo started; sleep 600 & wait", folder(), { onData, signal: controller.signal }),
  ).rejects.toThrow("aborted");
});

test("sets of tools have pi's names", () => {
  expect(createReadOnlyTools("/").map(({ name }) => name)).toEqual(["read", "grep", "find", "ls"]);
});

test("changes of one file wait for each other, also after a failure", async () => {
  const path = join(folder(), "x");
  const order: string[] = [];
  const first = withFileMutationQueue(path, async () => {
    await Promise.resolve();
    order.push("first");
    throw new Error("first failed");
  });
  const second = withFileMutationQueue(path, async () => order.push("second"));
  await expect(first).rejects.toThrow("first failed");
  await second;
  expect(order).toEqual(["first", "second"]);
});

test.each([
  ["of this machine", {}],
  ["through operations", { operations: createLocalBashOperations() }],
])("a wrapped bash %s rejects where the command fails, with what it wrote", async (_where, options) => {
  const bash = createBashTool(folder(), options);
  const failing = (input: object, signal?: AbortSignal) => bash.execute("1", input, signal);
  await expect(failing({ command: "echo so far; exit 3" })).rejects.toThrow(/^so far\n[\s\S]*code 3\b/i);
  await expect(failing({ command: "echo so far; sleep 60", timeout: 0.3 })).rejects.toThrow(
    /^so far\n[\s\S]*timed out after 0\.3 s/i,
  );
  const abort = new AbortController();
  const aborted = bash.execute("1", { command: "echo so far; sleep 60" }, abort.signal, () => abort.abort());
  await expect(aborted).rejects.toThrow(/^so far\n[\s\S]*aborted/i);
});

test("what a wrapped bash could not show is in its details", async () => {
  const shapes = [{}, { operations: createLocalBashOperations() }].map(async (options) => {
    const { details } = await createBashTool(folder(), options).execute("1", { command: "seq 2500" });
    return details;
  });
  for (const details of await Promise.all(shapes))
    expect(details).toMatchObject({
      truncation: {
        truncated: true,
        truncatedBy: "lines",
        totalLines: expect.any(Number),
        content: expect.stringContaining("2500"),
      },
    });
});

test("a wrapped tool has JSON Schema, and mends what models write in the place of it", async () => {
  const { parameters, prepareArguments } = createEditTool(folder());
  expect(parameters).toMatchObject({ type: "object", required: ["path"] });
  const edits = [{ oldText: "a", newText: "b" }];
  expect(prepareArguments({ path: "f", edits: JSON.stringify(edits), newText: null })).toEqual({
    path: "f",
    edits,
  });
  expect(prepareArguments({})).toEqual({});
});

test("changes through operations wait for each other, also for one that was aborted", async () => {
  const { known, operations } = files({ "/far/a.txt": "one two" });
  const slow = {
    ...operations,
    writeFile: async (path: string, content: string) => {
      await turn();
      return operations.writeFile(path, content);
    },
  };
  const edit = createEditTool("/far", { operations: slow });
  const changing = (oldText: string, newText: string, signal?: AbortSignal) =>
    edit.execute("1", { path: "a.txt", edits: [{ oldText, newText }] }, signal);
  await Promise.all([changing("one", "1"), changing("two", "2")]);
  expect(known.get("/far/a.txt")).toBe("1 2");
  const abort = new AbortController();
  const first = changing("1", "I", abort.signal);
  const second = createWriteTool("/far", { operations }).execute("1", { path: "a.txt", content: "new" });
  await turn();
  abort.abort();
  await expect(first).rejects.toThrow("abort");
  await second;
  expect(known.get("/far/a.txt")).toBe("new");
});

test("what the system says is named by its code", async () => {
  await expect(createReadTool(folder()).execute("1", { path: "none.txt" })).rejects.toMatchObject({
    code: "ENOENT",
    message: expect.stringContaining("(ENOENT)"),
  });
});

test("beyond its folder a wrapped tool asks the user of the session; an extension outside of one asks nobody", async () => {
  const [inside, outside] = [folder(), folder()];
  const path = join(outside, "a.txt");
  await createWriteTool(inside).execute("1", { path, content: "mine" });
  const asked: unknown[] = [];
  const answers = [true, false, undefined];
  await new AsyncResource("session").runInAsyncScope(async () => {
    useContext({} as never, {
      async confirmPath(request) {
        asked.push(request);
        return answers.shift();
      },
    });
    const read = createReadTool(inside);
    expect(text(await read.execute("1", { path }))).toBe("mine");
    await expect(read.execute("1", { path })).rejects.toThrow("did not allow");
    await expect(read.execute("1", { path })).rejects.toThrow("may not read it");
    useContext({} as never);
    await expect(read.execute("1", { path })).rejects.toThrow("may not read it");
  });
  expect(asked).toMatchObject(Array(3).fill({ toolName: "read", path, access: "read" }));
});

test.each([
  ["aborted", /aborted/i],
  ["timeout:5", /timed out/i],
])("operations that end a command with %s: its output is kept", async (why, words) => {
  const exec: CommandOperations["exec"] = async (_command, _cwd, { onData }) => {
    for (let line = 1; line <= 3_000; line += 1) onData(Buffer.from(`${line}\n`));
    throw new Error(why);
  };
  const failed = createBashTool(folder(), { operations: { exec } }).execute("1", { command: "long" });
  await expect(failed).rejects.toThrow(words);
  await expect(failed).rejects.toThrow(/The full output is in \S+\.log/);
});
