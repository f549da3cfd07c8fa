import { rmSync } from "node:fs";
import { join } from "node:path";
import { contentText, type Message } from "@bonsai-agent/messages";
import { FRAMES, userContent } from "@bonsai-agent/messages/host";
import { createSession } from "@bonsai-agent/session";
import { SessionSearch } from "@bonsai-agent/session/search";
import { adversarialTexts, history } from "@bonsai-agent/testkit";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { findRecalled } from "../src/recall/recall-search.ts";
import { COMPACTED, eachWithHome, home, idsOf, LOG, recall, textOf } from "./recall-stage.ts";

eachWithHome();

const onDisk = (notation: string, cwd = "/project", name = "1") =>
  history(notation, createSession({ cwd, file: join(home, `${name}.jsonl`) }));

describe("query", () => {
  test.each([
    ["in memory", () => history(COMPACTED), false],
    ["in a file", () => onDisk(COMPACTED), false],
    ["in a file, with an index", () => onDisk(COMPACTED), true],
  ])("a value of a long log is a hit with its line, %s", async (_, made, index) => {
    const { session, id } = made();
    const result = await recall(session, {}, index)({ query: "which port does staging listen on" });
    expect(idsOf(result)[0]).toBe(id("t1"));
    expect(textOf(result)).toMatch(
      /\[\w+\] result of bash \.\/deploy\.sh, [-\d: ]+, summarised\n {3}211: .*port 48213/,
    );
  });

  test("finds a cleared result by the arguments of its call", async () => {
    const { session, id } = onDisk(
      `U A(t1=read:src/cargo.ts t2=read:src/ledger.ts) T1"tens" T2"ones" A M(t1) M(t2)`,
    );
    const result = await recall(session)({ query: "src/ledger.ts" });
    expect(idsOf(result)[0]).toBe(id("t2"));
    expect(textOf(result)).toContain("cleared");
  });

  test("results of the same call are one hit", async () => {
    const runs = [1, 2, 3, 4, 5]
      .map((run) => `U A(r${run}=read:a.ts) T(r${run})"the port is ${run}"`)
      .join(" | ");
    const { session, id } = onDisk(`${runs} | U"the port matters" A | U A C(u7)`);
    const result = await recall(session)({ query: "the port" });
    expect(textOf(result).match(/result of read a\.ts/g)).toHaveLength(1);
    expect(textOf(result)).toContain("same text in: ");
    expect(idsOf(result)).toContain(id("u6"));
  });

  test("a hit with only the lines of an earlier hit is listed as the same text, for any author", async () => {
    const paste = "error at line 7: the walrus is missing\nsee the log";
    const { session, id } = onDisk(
      `U"${paste}" A | U"${paste}\nagain" A(t1=bash:make) T1"${paste}" A"it is a walrus" | U A C(u3)`,
    );
    const result = await recall(session)({ query: "walrus is missing" });
    expect(textOf(result).match(/the walrus is missing/g)).toHaveLength(1);
    expect(textOf(result)).toContain("same text in: ");
    for (const name of ["u1", "u2", "t1"]) expect(textOf(result)).toContain(id(name));
    expect(idsOf(result)).toContain(id("a3"));
  });

  test("newer entries of another branch do not displace hits of this path", async () => {
    const { session, id } = onDisk(`U"the walrus" A | U A C(u2)`);
    const { leafId } = session;
    const other = Array.from({ length: 3_000 }, () => ({
      type: "message" as const,
      message: { role: "user" as const, content: "the walrus", timestamp: 1 },
    }));
    session.append(other, { under: id("a1") });
    session.moveTo(leafId);
    expect(idsOf(await recall(session, {}, true)({ query: "walrus" }))).toContain(id("u1"));
  });

  test("entries that are visible, excluded from the context or on another branch are no hits", async () => {
    const { session } = onDisk(`U"zebra one" A ^u1 A"zebra two" B"zebra three"! U A C(u2) U"zebra four"`);
    const found = textOf(await recall(session)({ query: "zebra" }));
    expect(found).toContain("zebra one");
    expect(found).toContain("zebra two");
    expect(found).not.toMatch(/zebra three|zebra four/);
  });

  test("searches other branches on request", async () => {
    const { session, id } = onDisk(`U A U"the walrus" A ^a1 U A C(u3)`);
    const ask = recall(session);
    expect(textOf(await ask({ query: "walrus" }))).toContain("branches: true");
    const result = await ask({ query: "walrus", branches: true });
    expect(idsOf(result)).toEqual([id("u2")]);
    expect(textOf(result)).toContain("another branch");
    await expect(ask({ entries: [id("u2")] })).rejects.toThrow("branches: true");
    expect(textOf(await ask({ entries: [id("u2")], branches: true }))).toContain("the walrus");
  });

  test("a hit costs few tokens, however long its lines are", async () => {
    const { session } = onDisk(`U A(t1) T1"${"x".repeat(50_000)} needle ${"y".repeat(50_000)}" A | U C(u2)`);
    const found = textOf(await recall(session)({ query: "needle" }));
    expect(found).toContain(" needle ");
    expect(found.length).toBeLessThan(1_500);
  });
});

test("skips another session that is deleted during the search", async () => {
  const { session } = onDisk(COMPACTED);
  const { session: other, id } = onDisk(`U"a narwhal" A"seen"`, "/project", "2");
  const file = other.file!;
  other.close();
  const search = new SessionSearch({ home, index: false });
  const find: typeof search.find = async (...asked) => {
    const found = await SessionSearch.prototype.find.apply(search, asked);
    rmSync(file, { force: true });
    const hit = { ...found.hits[0]!, file, entryId: id("u1") };
    return { ...found, hits: asked[1]?.scope?.cwd === undefined ? found.hits : [hit] };
  };
  search.find = find;
  const options = { query: "port 48213 narwhal", limit: 5, search, branches: false, sessions: true };
  const { hits } = await findRecalled({ session, ...options });
  expect(hits.map(({ entry }) => entry.session)).toEqual([session]);
});

describe("text removed by an edit stays removed, also after masks and summaries", () => {
  const SECRET = 'U"deploy" A(t1=bash:./deploy.sh) T1"the key is zebra-4711, port 48213" A"Deployed."';
  test.each([
    ["replaced", `${SECRET} E(t1)"the key is hidden, port 48213"`],
    ["replaced, then cleared", `${SECRET} E(t1)"the key is hidden, port 48213" M(t1)`],
    ["replaced, then summarised", `${SECRET} E(t1)"the key is hidden, port 48213" | U A C(u2)`],
    ["replaced on another branch only", `${SECRET} E(t1)"the key is hidden, port 48213" ^a2 U A C(u2)`],
  ])("%s: the rest is found", async (_, notation) => {
    const { session, id } = onDisk(notation);
    const ask = recall(session);
    expect(textOf(await ask({ query: "zebra-4711" }))).toContain("No hidden entry");
    const opened = textOf(await ask({ entries: [id("t1")] }));
    expect(opened).toContain("the key is hidden, port 48213");
    expect(opened).not.toContain("zebra");
    expect(textOf(await ask({ query: "port 48213" }))).not.toContain("zebra");
  });

  test.each([
    ["taken out", `${SECRET} E(t1)`],
    ["taken out, then summarised", `${SECRET} E(t1) | U A C(u2)`],
  ])("%s: nothing is found or opened", async (_, notation) => {
    const { session, id } = onDisk(notation);
    const ask = recall(session);
    expect(idsOf(await ask({ query: "zebra-4711" }))).not.toContain(id("t1"));
    await expect(ask({ entries: [id("t1")] })).rejects.toThrow("removed from the conversation on purpose");
  });

  test("a replaced call does not name its result", async () => {
    const { session } = onDisk(`U A(t1=bash:zebra-4711) T1"all is well" A E(a1)"called" | U A C(u2)`);
    const found = textOf(await recall(session)({ query: "all is well" }));
    expect(found).toContain("all is well");
    expect(found).not.toContain("zebra");
  });

  test("opens the whole of an entry that a compaction cut or left out", async () => {
    const { session, id } = onDisk(`U A(t1=bash:./deploy.sh) T1"${LOG}" A"Deployed."`);
    const cut = `${LOG.slice(0, 200)}\n[… ${LOG.length - 400} more characters …]\n${LOG.slice(-200)}`;
    session.append({ type: "context_edit", targetId: id("t1"), replacement: { content: cut } });
    expect(textOf(await recall(session)({ query: "staging port" }))).toContain("48213");
    expect(textOf(await recall(session)({ entries: [id("t1")] }))).toContain(LOG);
  });
});

describe("other sessions", () => {
  test("are searched and opened only if the setting allows it", async () => {
    const folder = join(home, "sessions", "-project");
    const { session: other, id } = history(
      `U"the narwhal port is 7" A`,
      createSession({ cwd: "/project", file: join(folder, "2026_other.jsonl") }),
    );
    other.close();
    const { session } = history(
      COMPACTED,
      createSession({ cwd: "/project", file: join(folder, "2027_own.jsonl") }),
    );
    await expect(recall(session)({ query: "narwhal", sessions: true })).rejects.toThrow("recall.sessions");
    const name = `${other.id.slice(0, 8)}/${id("u1")}`;
    await expect(recall(session)({ entries: [name] })).rejects.toThrow("recall.sessions");
    const ask = recall(session, { sessions: true });
    const found = await ask({ query: "narwhal", sessions: true });
    expect(idsOf(found)).toEqual([name]);
    expect(textOf(await ask({ entries: [name] }))).toContain("the narwhal port is 7");
  });
});

test("Invariant: no text of a session begins or ends the frame of a recalled entry", async () => {
  const text = fc.oneof(
    fc.constantFrom(
      ...adversarialTexts(300).map(([, text]) => text),
      FRAMES.recalled.begin,
      FRAMES.recalled.end,
    ),
    fc.string(),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(text, { minLength: 1, maxLength: 4 }), async (texts) => {
      const session = createSession({ cwd: "/project" });
      const content = [...texts, "needle"].join("\n");
      const { id } = session.append({ type: "message", message: { role: "user", content, timestamp: 1 } });
      const kept = session.append({ type: "message", message: { role: "user", content: "x", timestamp: 2 } });
      session.append({ type: "compaction", summary: "s", firstKeptEntryId: kept.id, tokensBefore: 1 });
      for (const input of [{ query: "needle" }, { entries: [id] }]) {
        const [framed] = (await recall(session)(input)).content as Array<{ text: string }>;
        expect(framed!.text.split(FRAMES.recalled.begin)).toHaveLength(2);
        expect(framed!.text.split(FRAMES.recalled.end)).toHaveLength(2);
        expect(framed!.text.startsWith(FRAMES.recalled.begin)).toBe(true);
        expect(framed!.text.endsWith(FRAMES.recalled.end)).toBe(true);
      }
    }),
  );
});

test("the record before a summary names recall only if the agent has the tool", () => {
  const summary = {
    role: "compactionSummary",
    summary: "It was so.",
    tokensBefore: 1,
    timestamp: 1,
  } as const;
  const told = (message: Message) => contentText(userContent(message));
  expect(told(summary)).not.toContain("recall");
  const offered = told({ ...summary, offersRecall: true });
  expect(offered).toContain("The tool recall opens a message");
  expect(told({ ...summary, summary: told(summary), offersRecall: true })).toBe(offered);
});
