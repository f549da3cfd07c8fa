import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { afterEach, expect, test, vi } from "vitest";
import { type Fault, STORM_ROUNDS } from "./hostile-server.ts";
import { hostileOverHttp } from "./http-servers.ts";
import { calling, openMcpSession, script, startedWith } from "./mcp-session.ts";

const hostile = fileURLToPath(import.meta.resolve("./hostile-server.ts"));

const over = (fault: Fault, timeout?: number) => ({ ...script(hostile, fault), ...(timeout && { timeout }) });

// A failed test leaves them behind.
afterEach(() => {
  for (const pid of startedWith(hostile)) process.kill(pid, "SIGKILL");
});

test("each server that does not connect gets one notice with its reason", async () => {
  await using old = await hostileOverHttp("old", "application/json");
  await using mcp = await openMcpSession(
    {
      mute: over("mute", 0.1),
      dead: {
        command: "/bin/sh",
        args: ["-c", "printf '\\033[31mNo licence was found.\\033[0m\\n' >&2; exit 3"],
      },
      crashed: { command: process.execPath, args: ["-e", "throw new TypeError('No licence.')"] },
      old: { url: old.url },
      gone: { command: "bonsai-no-such-program" },
      nowhere: { url: "http://127.0.0.1:9/mcp" },
      lost: { ...script(hostile, "liar"), cwd: "/bonsai/no/such/folder" },
    },
    { answers: ["Fine."] },
  );
  expect(await mcp.session.prompt("Go.")).toMatchObject({ status: "done" });
  expect(mcp.offered()).toEqual([]);
  expect(mcp.notices.toSorted()).toEqual([
    "MCP: crashed is not available: The server exited with code 1. Its last output: TypeError: No licence.",
    "MCP: dead is not available: The server exited with code 3. Its last output: No licence was found.",
    expect.stringMatching(
      /^MCP: gone is not available: Cannot start bonsai-no-such-program: the program was not found/,
    ),
    expect.stringMatching(
      /^MCP: lost is not available: .* the working folder \/bonsai\/no\/such\/folder does not exist/,
    ),
    "MCP: mute is not available: The server did not answer within 0.1 s.",
    expect.stringMatching(/^MCP: nowhere is not available: Cannot reach the server: ./),
    "MCP: old is not available: Server's protocol version is not supported: 1999-12-31",
  ]);
  await mcp.session.close();
  expect(startedWith(hostile)).toEqual([]);
});

test("the usable tools of a careless server are offered, and the others are named", async () => {
  await using server = await hostileOverHttp("liar");
  await using mcp = await openMcpSession(
    { liar: { url: server.url } },
    {
      model: { contextWindow: 1_000_000 },
      answers: [
        calling(
          ["mcp__liar__fine", { anything: 1 }],
          ["mcp__liar__large-result"],
          ["mcp__liar__lines"],
          ["mcp__liar__odd-content"],
          ["mcp__liar__no-content"],
          ["mcp__liar__bad-image"],
          ["mcp__liar__null-result"],
          ["mcp__liar__untrue"],
          ["mcp__liar__slow-schema", { a: `${"a".repeat(50)}!` }],
        ),
        "Done.",
      ],
    },
  );
  expect(await mcp.session.prompt("Go.")).toMatchObject({ status: "done" });
  const names = mcp.offered();
  expect(names.every((name) => /^[A-Za-z0-9_-]{1,64}$/.test(name))).toBe(true);
  expect(new Set(names).size).toBe(names.length);
  expect(names).toContain("mcp__liar__fine");
  expect(names).toContain("mcp__liar__no-schema");
  expect(names).toContain("mcp__liar__round-schema");
  expect(names).toContainEqual(expect.stringMatching(/^mcp__liar_{8}etc_passwd___x$/));
  expect(names.filter((name) => name.startsWith("mcp__liar__a_b_"))).toHaveLength(2);
  expect(names.filter((name) => name.includes("schema"))).toHaveLength(3);

  const [fine, large, lines, odd, none, image, nothing, untrue, slow] = mcp.results();
  expect(fine).toMatchObject({ text: "All is fine.", isError: false });
  expect(large!.text.length).toBeLessThan(52_000);
  const path = /saved in (\S+) …]/.exec(large!.text)?.[1] ?? "";
  expect(readFileSync(path, "utf8")).toHaveLength(1_100_000);
  expect(lines!.text).toMatch(/^line 0\nline 1\n[\s\S]*Omitted \d+ more parts/);
  expect(odd).toMatchObject({ isError: false, text: expect.stringContaining("unknown type hologram") });
  expect(none!.text).toBe("[omitted content that is not a list]");
  expect(image).toMatchObject({
    images: 1,
    text: expect.stringContaining("audio, audio/wav, 4 bytes: saved in "),
  });
  expect(existsSync(/saved in (\S+\.wav)/.exec(image!.text)?.[1] ?? "")).toBe(true);
  expect(nothing!.isError).toBe(true);
  expect(untrue).toMatchObject({ isError: false, text: expect.stringContaining('{"n":"one"') });
  expect(slow).toMatchObject({ isError: true });

  const about = mcp.notices.map((notice) => notice.replace(/^MCP: liar: /, ""));
  expect(about).toEqual(
    expect.arrayContaining([
      "The server lists the tool fine twice. Using the first.",
      "Ignored a tool without a name.",
      expect.stringMatching(/^Ignored the tool N+…: its name has 9999 characters, more than 256\.$/),
      "Ignored the tool text-schema: its schema is not an object.",
      'Ignored the tool array-schema: its schema has type "array" instead of "object".',
      "Ignored the tool large-schema: its schema has 1049 kB, more than 64 kB.",
      "Ignored the tool deep-schema: its schema is nested too deep.",
    ]),
  );
  expect(about).toHaveLength(7);
  expect(JSON.stringify([mcp.session.requests, mcp.notices, mcp.session.session.projection()])).not.toMatch(
    /\\u001b|\\u0000/,
  );
});

test.each(["stdio", "HTTP"])(
  "a server over %s that dies or floods fails one call and reconnects at the next",
  async (transport) => {
    await using server = await hostileOverHttp("fatal");
    await using mcp = await openMcpSession(
      { fatal: transport === "HTTP" ? { url: server.url } : over("fatal") },
      {
        model: { contextWindow: 1_000_000 },
        answers: [
          calling(["mcp__fatal__die"]),
          calling(["mcp__fatal__fine"]),
          calling(["mcp__fatal__flood"]),
          calling(["mcp__fatal__fine"]),
          "Done.",
        ],
      },
    );
    await mcp.session.prompt("Go.");
    const [die, fine, flood, again] = mcp.results();
    expect(die).toMatchObject({
      isError: true,
      text: expect.stringContaining("disconnected during the call"),
    });
    expect(fine).toMatchObject({ text: "All is fine.", isError: false });
    expect(flood).toMatchObject({
      isError: true,
      text: expect.stringContaining("The server sent a message larger than 32 MB."),
    });
    expect(again!.text).toBe("All is fine.");
    expect(mcp.notices.filter((notice) => notice.includes("larger than 32 MB"))).toHaveLength(1);
    if (transport === "stdio")
      expect(mcp.notices).toContain(
        "MCP: fatal disconnected: The server was stopped by a signal. The next call reconnects.",
      );
    await mcp.session.close();
    expect(startedWith(hostile)).toEqual([]);
  },
);

test("an endless list is cut, and a value that is not a list is reported", async () => {
  await using endless = await hostileOverHttp("endless", "application/json");
  await using odd = await hostileOverHttp("two-lists", "application/json");
  await using mcp = await openMcpSession(
    { endless: { url: endless.url }, odd: { url: odd.url } },
    { answers: [calling(["mcp_search", { query: "t17", limit: 1 }]), "Done."] },
  );
  await mcp.session.prompt("Go.");
  expect(mcp.offered()).toEqual(["mcp_search", "mcp_call"]);
  expect(mcp.results()[0]!.text).toContain("mcp__endless__t17");
  expect(mcp.notices.toSorted()).toEqual([
    "MCP: endless: The server's list of tools is too long. Using the first 2000.",
    "MCP: odd: The server's list of tools is not a list.",
  ]);
});

test("the new tools of a server are offered after a storm of messages", async () => {
  await using restless = await hostileOverHttp("restless");
  await using mcp = await openMcpSession(
    { restless: { url: restless.url } },
    { answers: [calling(["mcp__restless__storm"]), "Done.", "Done again."] },
  );
  let updates = 0;
  const count = () => {
    updates += 1;
  };
  mcp.session.lifecycle.on("tool_execution_update", count, { source: "test" });
  await mcp.session.prompt("Go.");
  expect(mcp.results()).toMatchObject([{ text: "The storm is over.", isError: false }]);
  expect(updates).toBeLessThan(STORM_ROUNDS);
  const names = () => mcp.session.agent.tools.names;
  await vi.waitFor(() => expect(names()).not.toContain("mcp__restless__v1"), { timeout: 30_000 });
  await mcp.session.prompt("Go on.");
  expect(mcp.offered().filter((name) => /__v\d+$/.test(name))).toHaveLength(1);
  expect(mcp.offered()).toContain("mcp__restless__die");
  expect(mcp.notices).toEqual([]);
});

test("a server that writes other text to standard output gets one notice and still works", async () => {
  await using mcp = await openMcpSession(
    { loud: over("loud"), torrent: over("torrent") },
    {
      model: { contextWindow: 1_000_000 },
      answers: [calling(["mcp__loud__fine"], ["mcp__torrent__fine"]), "Done."],
    },
  );
  await mcp.session.prompt("Go.");
  expect(mcp.results().map(({ text }) => text)).toEqual(["All is fine.", "All is fine."]);
  expect(mcp.notices.filter((notice) => notice.includes("standard output")).toSorted()).toEqual([
    "MCP: loud: The server wrote text to standard output that is not an MCP message: Welcome to my server!",
    "MCP: torrent: The server wrote text to standard output that is not an MCP message: no message",
  ]);
});
