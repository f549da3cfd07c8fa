import {
  appendFileSync,
  chmodSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, expect, test } from "vitest";
import { sampleLines, testFolder, writeLines } from "./call/sample-session.ts";
import { type CliRun, type RunCliOptions, runCli } from "./run-cli.ts";

interface Viewed {
  url: string;
  /** As Ctrl-C does. */
  interrupt: () => void;
  ended: Promise<CliRun>;
}

const viewed: Viewed[] = [];
afterEach(async () => {
  for (const { interrupt, ended } of viewed.splice(0)) {
    interrupt();
    await ended;
  }
});

/** `bonsai view`, until its address was printed. */
async function view(args: readonly string[], options: RunCliOptions = {}): Promise<Viewed> {
  const ctrlC = new AbortController();
  let printed = "";
  const address = Promise.withResolvers<string>();
  const ended = runCli(["view", ...args, "--json"], {
    ...options,
    signal: ctrlC.signal,
    onOutput(text) {
      printed += text;
      const found = /"url": ?"([^"]+)"/.exec(printed)?.[1];
      if (found !== undefined) address.resolve(found);
    },
  });
  void ended.then(({ stderr }) => address.reject(new Error(stderr)));
  const run = { url: await address.promise, interrupt: () => ctrlC.abort(), ended };
  viewed.push(run);
  return run;
}

/** Parts of a page's data. */
interface Sent {
  session: { id: string; program: string };
  rows: { ids: string[]; previews: string[] };
}

async function updateOf(url: string): Promise<{ revision: number; data: Sent }> {
  return (await (await fetch(`${url}data`)).json()) as { revision: number; data: Sent };
}

async function dataOf(url: string): Promise<Sent> {
  return (await updateOf(url)).data;
}

/** Asks for what came since so many rows of a page as it was. */
function sinceOf(url: string, data: Sent, { rows, revision }: { rows: number; revision: string }) {
  const last = data.rows.ids[rows - 1]!;
  const known = new URLSearchParams({ from: String(rows), session: data.session.id, last, revision });
  return async () => (await (await fetch(`${url}data?${known}`)).json()) as unknown;
}

async function revisionOf(url: string): Promise<string> {
  return String((await updateOf(url)).revision);
}

const said = (id: string, parentId: string, content: string) =>
  `${JSON.stringify({
    type: "message",
    id,
    parentId,
    timestamp: "2026-01-05T10:00:00.000Z",
    message: { role: "user", content, timestamp: 0 },
  })}\n`;

test("bonsai view serves a session only with its token and ends after an interrupt", async () => {
  const file = writeLines(sampleLines());
  const before = readFileSync(file);
  const { url, interrupt, ended } = await view([file, "--no-open"]);
  expect(new URL(url).hostname).toBe("127.0.0.1");
  expect((await fetch(url)).status).toBe(200);
  expect((await fetch(new URL("/", url))).status).toBe(404);
  expect((await fetch(new URL("/data", url))).status).toBe(404);
  expect((await fetch(`${url}../../../../etc/passwd`)).status).toBe(404);
  expect((await dataOf(url)).rows.ids.length).toBeGreaterThan(5);
  interrupt();
  expect((await ended).code).toBe(0);
  await expect(fetch(url)).rejects.toThrow();
  expect(readFileSync(file).equals(before)).toBe(true);
});

test("another program's new entries are announced and shown", async () => {
  const file = writeLines(sampleLines());
  const { url } = await view([file, "--no-open"]);
  const last = (await dataOf(url)).rows.ids.at(-1)!;
  const following = new AbortController();
  const { body } = await fetch(`${url}events`, { signal: following.signal });
  const events = body!.pipeThrough(new TextDecoderStream()).getReader();
  const changed = async () => {
    for (let text = ""; !text.includes("event: changed"); ) text += (await events.read()).value ?? "";
  };
  await changed();
  appendFileSync(file, said("eeee0001", last, "And now?"));
  await changed();
  expect((await dataOf(url)).rows.previews.at(-1)).toBe("And now?");
  following.abort();
});

test("a file that is gone is an error for a moment; another session in its place is shown whole", async () => {
  const file = writeLines(sampleLines());
  const { url } = await view([file, "--no-open"]);
  const data = await dataOf(url);
  const since = sinceOf(url, data, { rows: 3, revision: await revisionOf(url) });
  expect(await since()).toMatchObject({ from: 3 });
  rmSync(file);
  expect((await fetch(`${url}data`)).status).toBe(500);
  const [header] = sampleLines();
  writeFileSync(file, `${JSON.stringify({ ...(header as object), id: "other" })}\n`);
  appendFileSync(file, said("eeee0001", "none", "Somebody else's"));
  expect(await since()).toMatchObject({
    from: 0,
    data: { session: { id: "other" }, rows: { previews: ["Somebody else's"] } },
  });
});

test("a word that is changed in the file is not shown any more, though all entries are the same", async () => {
  const file = writeLines(sampleLines());
  const { url } = await view([file, "--no-open"]);
  const data = await dataOf(url);
  const since = sinceOf(url, data, { rows: 3, revision: await revisionOf(url) });
  expect(await since()).toMatchObject({ from: 3 });
  const text = readFileSync(file, "utf8");
  writeFileSync(file, text.replace("Never use floats", "Never mention it"));
  expect(await since()).toMatchObject({ from: 0 });
  const { rows } = await dataOf(url);
  expect(rows.previews.join()).toContain("Never mention it");
  expect(rows.previews.join()).not.toContain("Never use floats");
});

test("the token is no argument of the program that opens the browser", async () => {
  const folder = mkdtempSync(join(tmpdir(), "opener-"));
  const called = join(folder, "called");
  writeFileSync(
    join(folder, "opener"),
    `#!/bin/sh\nprintf '%s' "$*" > ${called}.part && mv ${called}.part ${called}\n`,
  );
  chmodSync(join(folder, "opener"), 0o755);
  const env = { BROWSER: "opener", PATH: `${folder}${delimiter}${process.env.PATH}` };
  const { url, interrupt, ended } = await view([writeLines(sampleLines())], { env });
  await expect.poll(() => statSync(called, { throwIfNoEntry: false })?.size).toBeGreaterThan(0);
  const argument = readFileSync(called, "utf8");
  expect(argument).toMatch(/^file:/);
  expect(argument).not.toContain(new URL(url).pathname.replaceAll("/", ""));
  const leading = fileURLToPath(argument);
  expect(statSync(leading).mode & 0o077).toBe(0);
  expect(readFileSync(leading, "utf8")).toContain(url);
  interrupt();
  await ended;
  expect(statSync(leading, { throwIfNoEntry: false })).toBeUndefined();
});

test.for([
  [
    "a session of pi's older version",
    '{"type":"session","id":"a","timestamp":"2025-11-20T23:33:50.805Z","cwd":"/p"}',
    "pi",
  ],
  [
    "Bonsai's",
    '{"type":"session","version":3,"id":"a","timestamp":"2026-01-05T09:00:00.000Z","cwd":"/p"}\n{"type":"custom","customType":"bonsai.pin","id":"aaaa0001","parentId":null,"timestamp":"2026-01-05T09:00:00.000Z","data":{"text":"x"}}',
    "Bonsai",
  ],
  [
    "nobody knows whose",
    '{"type":"session","version":3,"id":"a","timestamp":"2026-01-05T09:00:00.000Z","cwd":"/p"}',
    "",
  ],
] as const)("%s is called so", async ([, lines, program]) => {
  const file = join(testFolder(), "session.jsonl");
  writeFileSync(file, `${lines}\n`);
  const { url } = await view([file, "--no-open"]);
  expect((await dataOf(url)).session.program).toBe(program);
});

test("another agent's transcript is shown as a session, under that agent's name, and followed", async () => {
  const file = join(testFolder(), "transcript.jsonl");
  const line = {
    type: "user",
    uuid: "u1",
    parentUuid: null,
    sessionId: "s1",
    cwd: "/p",
    version: "2.0.0",
    timestamp: "2026-01-05T09:00:00.000Z",
  };
  writeFileSync(
    file,
    `${JSON.stringify({ ...line, message: { role: "user", content: "Hello from elsewhere" } })}\n`,
  );
  const { url } = await view([file, "--no-open"]);
  const data = await dataOf(url);
  const revision = await revisionOf(url);
  expect(data.session.program).toBe("Claude Code");
  expect(data.rows.previews).toContain("Hello from elsewhere");
  const more = { ...line, uuid: "u2", parentUuid: "u1", message: { role: "user", content: "And more" } };
  appendFileSync(file, `${JSON.stringify(more)}\n`);
  const { ids } = data.rows;
  const since = sinceOf(url, data, { rows: ids.length, revision });
  // The earlier rows stay, so that a reader keeps the place.
  expect(await since()).toMatchObject({
    from: ids.length,
    data: { rows: { previews: ["And more"] } },
  });
});

test("an unusable port and a folder without sessions are errors", async () => {
  const other = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => other.once("listening", resolve));
  const { port } = other.address() as AddressInfo;
  const file = writeLines(sampleLines());
  const taken = await runCli(["view", file, "--no-open", "--port", String(port), "--json"]);
  other.close();
  expect([taken.code, JSON.parse(taken.stderr).error.code]).toEqual([1, "port_taken"]);
  expect((await runCli(["view", file, "--no-open", "--port", "70000"])).code).toBe(2);
  const env = { BONSAI_HOME: testFolder() };
  const none = await runCli(["view", "--no-open", "--json"], { cwd: testFolder(), env });
  expect([none.code, JSON.parse(none.stderr).error.code]).toEqual([1, "nothing_to_continue"]);
});
