import { existsSync, readdirSync, statSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { everyRow } from "@bonsai-agent/testkit";
import { expect, test } from "vitest";
import { agentsHome, claudeRows, linesOf } from "./agents-home.ts";
import { memoryClient } from "./memory-client.ts";

/** The hits of an answer of `recall`. */
function hitsIn(text: string): { entry: string; session: string; agent: string }[] {
  const heads = text.matchAll(/^\d+\. \[(\S+)\] .* in session (\S+) \(([^,]+),/gm);
  return [...heads].map(([, entry, session, agent]) => ({ entry: entry!, session: session!, agent: agent! }));
}

test("every tool is read-only and has a description", async () => {
  const { client } = await memoryClient(agentsHome());
  const { tools } = await client.listTools();
  expect(tools.map(({ name }) => name)).toEqual([
    "recall",
    "open_entry",
    "list_sessions",
    "carry_over",
    "branch_diff",
  ]);
  for (const { annotations, description } of tools) {
    expect(annotations).toMatchObject({ readOnlyHint: true, openWorldHint: false });
    expect(description).not.toBe("");
  }
});

test("recall searches the hidden entries of the folder's latest session and names it", async () => {
  const home = agentsHome();
  const { call } = await memoryClient(home);
  const { text } = await call("recall", { query: "cobalt crane" });
  expect(text).toContain(`Searched the hidden entries of session ${home.current} (Claude Code`);
  expect(text).toContain("The wall needs 14 cans of cobalt.");
  expect(text).not.toContain("The crane is amber.");
  expect(hitsIn(text)).toMatchObject([{ session: home.current, agent: "Claude Code" }]);
});

test("recall opens no other session while this one has a hit, and searches all if it has none", async () => {
  const { call } = await memoryClient(agentsHome());
  expect((await call("recall", { query: "harbour" })).text).not.toContain("Codex");
  const { text } = await call("recall", { query: "vermilion" });
  expect(text).toContain("It has no hit. Searched 7 sessions of all agents.");
  expect(text).toContain("The mill runs on vermilion.");
  const { text: inOne } = await call("recall", { query: "vermilion", scope: "session" });
  expect(inOne).toContain("No hits.");
});

test("recall finds texts in the sessions of all agents, with the index and without it", () =>
  everyRow([[false], [true]])(async ([isIndexed]) => {
    const { call } = await memoryClient({ ...agentsHome(), isIndexed: isIndexed! });
    const words = ["cobalt", "vermilion", "saffron", "viridian", "umber", "magenta", "indigo"];
    const agents: unknown[] = [];
    for (const query of words) {
      const hits = hitsIn((await call("recall", { query, scope: "all" })).text);
      agents.push(hits.map(({ agent }) => agent).join());
      const opened = await call("open_entry", { entry: hits[0]!.entry, session: hits[0]!.session });
      expect(opened.text).toContain(query);
    }
    expect(agents).toEqual(["Claude Code", "Codex", "Gemini CLI", "Qwen Code", "OpenCode", "pi", "Bonsai"]);
  }));

test("recall follows a transcript as it grows", async () => {
  const home = agentsHome();
  const { call } = await memoryClient({ ...home, isIndexed: true });
  const grow = (texts: readonly string[]) =>
    home.write(
      ".claude/projects/-srv-new/new.jsonl",
      linesOf(claudeRows({ id: "new", cwd: "/srv/new", texts })),
    );
  const hits = async (query: string) => hitsIn((await call("recall", { query, scope: "all" })).text).length;
  grow(["Find the ochre.", "Found.", "Good."]);
  expect(await hits("ochre")).toBe(1);
  grow(["Find the ochre.", "Found.", "Good.", "It was turquoise.", "Thanks."]);
  expect(await hits("turquoise")).toBe(1);
  expect(await hits("ochre")).toBe(1);
});

test("recall ignores results of this server and entries in view", async () => {
  const home = agentsHome();
  const record = (at: number, role: string, content: unknown) => ({
    ...{ type: role, uuid: `w${at}`, parentUuid: at === 0 ? null : `w${at - 1}`, sessionId: "watch" },
    ...{ cwd: "/srv/watch", timestamp: `2026-10-01T10:00:0${at}.000Z` },
    message: role === "user" ? { role, content } : { role, id: `m${at}`, model: "c", content },
  });
  const input = { query: "heliotrope" };
  const call = { type: "tool_use", id: "t1", name: "mcp__bonsai__recall", input };
  const result = { type: "tool_result", tool_use_id: "t1", content: "1. [ab] the watch is heliotrope" };
  home.write(
    ".claude/projects/-srv-watch/watch.jsonl",
    linesOf([
      record(0, "user", "Which heliotrope?"),
      record(1, "assistant", [call]),
      record(2, "user", [result]),
      record(3, "assistant", [{ type: "text", text: "It was heliotrope." }]),
    ]),
  );
  const entriesFound = async (cwd: string) => {
    const { call: ask } = await memoryClient({ ...home, cwd });
    return hitsIn((await ask("recall", { query: "heliotrope", scope: "all" })).text).length;
  };
  expect(await entriesFound("/srv/watch")).toBe(0);
  expect(await entriesFound(home.cwd)).toBe(3);
});

test("empty and damaged transcripts do not stop a search", () =>
  everyRow([[false], [true]])(async ([isIndexed]) => {
    const home = agentsHome();
    home.write(".claude/projects/-srv-a/empty.jsonl", "");
    home.write(".claude/projects/-srv-a/summary.jsonl", '{"type":"summary","summary":"x","leafUuid":"u"}\n');
    home.write(".codex/sessions/2026/10/03/rollout-torn.jsonl", '{"type":"session_meta","payl');
    home.write(".gemini/tmp/9f/chats/session-2.json", "{");
    home.write(".local/share/opencode/storage/session/p/ses_gone.json", '{"id":"ses_gone"}');
    home.write(".bonsai/sessions/--srv-own--/damaged.jsonl", "\0\0");
    const { call } = await memoryClient({ ...home, isIndexed: isIndexed! });
    expect(hitsIn((await call("recall", { query: "umber", scope: "all" })).text)).toHaveLength(1);
    expect(hitsIn((await call("recall", { query: "vermilion", scope: "all" })).text)).toHaveLength(1);
  }));

test("a named session is searched whole", async () => {
  const home = agentsHome();
  const { call } = await memoryClient(home);
  const { text } = await call("recall", { query: "amber", session: home.current.slice(0, 8) });
  expect(text).toContain("Searched all entries of session");
  expect(text).toContain("The crane is amber.");
});

test("the client's own agent and its root folder choose this session", async () => {
  const home = agentsHome();
  const codex = home.write(
    ".codex/sessions/2026/10/02/rollout-2026-10-02T10-00-00-0200.jsonl",
    linesOf([
      { timestamp: "2026-10-02T10:00:00.000Z", type: "session_meta", payload: { id: "0200", cwd: home.cwd } },
      {
        ...{ timestamp: "2026-10-02T10:00:01.000Z", type: "response_item" },
        payload: { type: "message", role: "user", content: [{ type: "input_text", text: "Weigh anchor." }] },
      },
    ]),
  );
  const hourAgo = Date.now() / 1000 - 3_600;
  utimesSync(codex, hourAgo, hourAgo);
  const roots = [pathToFileURL(home.cwd).href];
  const ofCodex = await memoryClient({ ...home, cwd: "/", clientName: "codex-mcp-client", roots });
  expect((await ofCodex.call("carry_over")).text).toContain("Session 0200 (Codex");
  const ofAnother = await memoryClient({ ...home, cwd: "/", clientName: "Visual Studio Code", roots });
  expect((await ofAnother.call("carry_over")).text).toContain(`Session ${home.current} (Claude Code`);
});

test("open_entry shows a message by number, its neighbours, and lines around a text", async () => {
  const home = agentsHome();
  const text = Array.from({ length: 3_000 }, (_, at) => `line ${at} of the ledger`).join("\n");
  const rows = claudeRows({ id: "long", cwd: "/srv/long", texts: ["Begin.", "Begun.", text, "Read."] });
  home.write(".claude/projects/-srv-long/long.jsonl", linesOf(rows));
  const { call } = await memoryClient(home);
  const opened = await call("open_entry", { session: "long", entry: "2" });
  expect(opened.text).toContain("line 0 of the ledger");
  expect(opened.text.length).toBeLessThan(24_000);
  expect(opened.text).toMatch(/Continue with from_line \d+\./);
  expect(opened.text).toMatch(/Before: \[\w+\] answer, 2026-10-01 10:00: Begun\./);
  const around = await call("open_entry", { session: "long", entry: "2", around: "line 2500", context: 0 });
  expect(around.text).toContain("line 2500 of the ledger");
  expect(around.text).not.toMatch(/Before:|After:/);
  const after = await call("open_entry", { session: "long", entry: "2", from_line: 9_000 });
  expect(after).toMatchObject({
    isError: true,
    text: expect.stringContaining("from_line is 9000, but the entry"),
  });
});

test("list_sessions filters by agent and folder, pages, and returns its text as a structure", async () => {
  const home = agentsHome();
  const { call } = await memoryClient(home);
  const ids = async (args: Record<string, unknown>) =>
    ((await call("list_sessions", args)).structured!.sessions as { session: string }[]).map(
      ({ session }) => session,
    );
  expect(await ids({})).toHaveLength(7);
  expect(await ids({ agent: "opencode" })).toEqual(["ses_main"]);
  expect(await ids({ folder: "/srv" })).toHaveLength(6);
  expect(await ids({ folder: home.cwd })).toEqual([home.current]);
  const pages = [await ids({ limit: 4 }), await ids({ limit: 4, page: 2 })];
  expect(new Set(pages.flat()).size).toBe(7);
  const { text, structured } = await call("list_sessions", { limit: 4 });
  expect(structured).toMatchObject({ more: true });
  expect(JSON.parse(text)).toEqual(structured);
});

test("carry_over has the user's words from before and after a compaction", async () => {
  const { call } = await memoryClient(agentsHome());
  const { text } = await call("carry_over");
  expect(text).toContain("Paint the harbour wall. Never use lead.");
  expect(text).toContain("Now the crane.");
});

test("branch_diff compares the only two branches, and lists the ends if there are more", async () => {
  const home = agentsHome();
  const [first, second] = claudeRows({ id: "fork", cwd: "/srv/fork", texts: ["Begin.", "Begun."] });
  const branch = (uuid: string, text: string) => ({
    ...{ ...first, uuid, parentUuid: "u1", message: { role: "user", content: text } },
  });
  const path = ".claude/projects/-srv-fork/fork.jsonl";
  home.write(path, linesOf([first!, second!, branch("x", "Go left."), branch("y", "Go right.")]));
  const { call } = await memoryClient(home);
  const two = await call("branch_diff", { session: "fork" });
  expect(two.text).toMatch(/A and B split after/);
  expect(two.text).toContain("Go left.");
  expect(two.text).toContain("Go right.");
  const one = await call("branch_diff");
  expect(one).toMatchObject({ isError: true, text: expect.stringContaining("only one branch") });
});

test("resources are sessions as Markdown, in pages", async () => {
  const home = agentsHome();
  const text = "harbour ".repeat(30_000);
  home.write(
    ".claude/projects/-srv-big/big.jsonl",
    linesOf(claudeRows({ id: "big", cwd: "/srv/big", texts: [text, text] })),
  );
  const { client } = await memoryClient(home);
  const { resources } = await client.listResources();
  expect(resources.map(({ uri }) => uri)).toContain(`bonsai://session/${home.current}`);
  const read = async (uri: string) => {
    const { contents } = await client.readResource({ uri });
    return (contents[0] as { text: string }).text;
  };
  expect(await read(`bonsai://session/${home.current}`)).toContain("The wall needs 14 cans of cobalt.");
  expect(await read("bonsai://session/big")).toMatch(/\[Page 1 of 5\. Continue with page 2\.\]$/);
  expect((await read("bonsai://session/big/5")).length).toBeLessThan(100_000);
  await expect(read("bonsai://session/big/6")).rejects.toThrow("There is no page 6.");
  await expect(read("bonsai://session/nobody")).rejects.toThrow('No session has the id "nobody".');
});

test("every answer redacts keys of the environment, known forms, and values that an entry gives away", async () => {
  const home = agentsHome();
  const [known, form, given] = [
    "corp-key-0123456789",
    `sk-ant-api03-${"aB3".repeat(20)}`,
    "zq81-mno2-77xw-kkdd",
  ];
  const texts = [
    `DB_PASSWORD=${given}`,
    "Noted.",
    `Use ${known} and ${form} and ${given} at the jetty.`,
    "Ok.",
  ];
  home.write(
    ".claude/projects/-srv-keys/keys.jsonl",
    linesOf(claudeRows({ id: "keys", cwd: "/srv/keys", texts })),
  );
  const env = { ...home.env, ANTHROPIC_API_KEY: known };
  const { call, client } = await memoryClient({ ...home, env });
  const answers = [
    await call("recall", { query: "jetty", scope: "all" }),
    await call("recall", { query: "jetty", session: "keys" }),
    await call("open_entry", { session: "keys", entry: "2" }),
    await call("carry_over", { session: "keys" }),
    await call("list_sessions", { folder: "/srv/keys" }),
    await client.readResource({ uri: "bonsai://session/keys" }),
  ];
  const shown = JSON.stringify(answers);
  expect(shown).toContain("[redacted");
  for (const secret of [known, form, given]) expect(shown).not.toContain(secret);
});

test("wrong calls get an error with a hint", () => {
  const home = agentsHome();
  home.write(".claude/projects/-srv-damaged/damaged.jsonl", '{"type":"user"\n\0\0\n{"uuid":1}\n');
  return everyRow([
    ["open_entry", { entry: "1", session: "nobody" }, "Find ids with list_sessions."],
    ["open_entry", { entry: "ffffffff" }, "No entry of this session"],
    ["open_entry", {}, "expected string"],
    ["open_entry", { entry: "1", session: "damaged" }, "is not a transcript of a known program"],
    ["recall", { query: "--- ..." }, "The query contains no word to search for."],
    ["recall", { query: "x", limit: 9_999 }, "limit"],
    ["carry_over", { session: "s".repeat(100_000) }, "No session has the id"],
    ["carry_over", { page: 99 }, "There is no page 99. The last page is 1."],
    ["branch_diff", { a: "nothing", b: "nowhere" }, "No entry of this session"],
    ["list_sessions", { agent: "emacs" }, "agent"],
  ] as const)(async ([name, args, words]) => {
    const { call } = await memoryClient(home);
    const { text, isError } = await call(name, args);
    expect(isError).toBe(true);
    expect(text).toContain(words);
    expect(text.length).toBeLessThan(1_000);
  });
});

test("if the folder has no session, recall searches all sessions and the other tools name the missing session", async () => {
  const { call } = await memoryClient({ ...agentsHome(), cwd: "/srv/empty" });
  expect((await call("recall", { query: "cobalt" })).text).toContain("14 cans of cobalt");
  const { text, isError } = await call("carry_over");
  expect([text, isError]).toEqual([
    "No agent has a session for /srv/empty. Set the argument session. Find ids with list_sessions.",
    true,
  ]);
});

test("nothing is written except the index in Bonsai's home", async () => {
  const home = agentsHome();
  const stateOf = () =>
    readdirSync(home.folder, { recursive: true, encoding: "utf8" })
      .filter(
        (name) => !name.startsWith(join(".bonsai", "index")) && statSync(join(home.folder, name)).isFile(),
      )
      .map((name) => `${name} ${statSync(join(home.folder, name)).mtimeMs}`);
  const before = stateOf();
  const { call } = await memoryClient({ ...home, isIndexed: true });
  await call("recall", { query: "harbour", scope: "all" });
  await call("carry_over");
  await call("list_sessions");
  expect(stateOf()).toEqual(before);
  expect(existsSync(join(home.folder, ".bonsai/index"))).toBe(true);
});
