import { BonsaiError } from "@bonsai-agent/extension";
import { afterAll, beforeAll, expect, test } from "vitest";
import { offeringOverHttp } from "./http-servers.ts";
import { type McpSession, offeringProgram, openMcpSession } from "./mcp-session.ts";

let offers: Awaited<ReturnType<typeof offeringOverHttp>>;
beforeAll(async () => {
  offers = await offeringOverHttp();
});
afterAll(() => offers[Symbol.asyncDispose]());
const broken = {
  command: process.execPath,
  args: ["-e", "console.error('\u001b[31mno database'); process.exit(3)"],
};
const last = ({ notices }: McpSession) => notices.at(-1)!;

test("the text lists servers that need attention first, with their cost, and everything of one server", async () => {
  await using open = await openMcpSession({ offers, broken, idle: { ...offers, enabled: false } });
  await open.session.command("/mcp");
  const [summary, ...rows] = last(open).split("\n");
  expect(summary).toMatch(/^1 of 3 servers ready · 2 tools, ~\d+ tokens in each request$/);
  expect(rows.map((row) => row.split(" · ", 2))).toEqual([
    ["broken", "failed"],
    ["offers", "ready"],
    ["idle", "off"],
  ]);
  expect(rows[0]).toContain("no database");
  await open.session.command("/mcp offers");
  expect(last(open)).toContain("mcp__offers__show-later  ~");
  expect(last(open)).toContain("@offers:test://text");
  expect(last(open)).toContain("/offers:review  Reviews");
  await open.session.command("/mcp broken");
  expect(last(open)).toContain("Error output\n  no database");
  expect(open.notices.join("\n")).not.toContain("\u001b");
});

test("reports that large tools are found by search", async () => {
  await using open = await openMcpSession({ offers }, { model: { contextWindow: 300 } });
  await open.session.command("/mcp");
  expect(last(open)).toContain("the model searches for tools with mcp_search");
});

test("a server is turned off and on for the session, and reconnected", async () => {
  await using open = await openMcpSession({ offers });
  await open.session.command("/mcp off offers");
  expect(last(open)).toBe("Turned offers off for this session.");
  await open.session.command("/mcp on offers");
  expect(last(open)).toBe("Turned offers on for this session: ready, 2 tools.");
  await open.session.command("/mcp reconnect offers");
  expect(last(open)).toBe("offers: ready, 2 tools.");
});

test("an impossible command is refused", async () => {
  await using open = await openMcpSession({ offers, local: { ...offeringProgram, enabled: false } });
  for (const [text, message] of [
    ["/mcp nothing", "No MCP server is named nothing."],
    ["/mcp login", "Unknown command: /mcp login."],
    ["/mcp offers please", "Unknown command: /mcp offers please."],
    ["/mcp login local", "The MCP server local needs no login: it runs as a local program."],
  ] as const) {
    const error = await open.session.command(text).catch((thrown: unknown) => thrown);
    expect(BonsaiError.is(error) && error.message).toContain(message);
  }
});

test("shows a refused command with its hint on a screen", async () => {
  await using open = await openMcpSession({ offers }, { mode: "tui" });
  await open.session.command("/mcp nothing");
  expect(last(open)).toBe("No MCP server is named nothing. Configured servers: offers.");
});

test("names and verbs are completed", async () => {
  await using open = await openMcpSession({ offers });
  const complete = async (text: string) =>
    (await open.session.extensions.completeCommand("mcp", text)).map(({ value }) => value);
  expect(await complete("o")).toEqual(["offers", "on", "off"]);
  expect(await complete("login o")).toEqual(["login offers"]);
  expect(await complete("nothing o")).toEqual([]);
});

/** Opens these servers in the terminal. Questions are answered by the rows that start with these words. */
async function openTerminal(servers: object, ...wanted: string[]) {
  const asked: { title: string; options: string[] }[] = [];
  const select = async (title: string, options: string[]) => {
    asked.push({ title, options });
    const next = wanted.shift();
    return options.find((option) => next !== undefined && option.startsWith(next));
  };
  const open = await openMcpSession(servers, { mode: "tui", ui: { select }, answers: ["Fine."] });
  // The first prompt waits for the servers.
  await open.session.prompt("Go.");
  return Object.assign(open, { asked });
}

/** A server whose entry has a key needs no login. */
const withKey = () => ({ ...offers, headers: { authorization: "Bearer key" } });

test("in the terminal: a list of servers leads to the actions of one", async () => {
  await using open = await openTerminal({ offers: withKey(), broken }, "offers", "Reconnect");
  await open.session.command("/mcp");
  const [servers, actions] = open.asked;
  expect(servers!.title).toMatch(
    /^MCP servers: 1 of 2 servers ready · 2 tools, ~\d+ tokens in each request$/,
  );
  expect(servers!.options.map((row) => row.split(" · ", 2))).toEqual([
    ["broken", "failed"],
    ["offers", "ready"],
  ]);
  expect(actions!.title).toMatch(/^offers: ready, /);
  expect(actions!.options).toEqual([
    "Show tools, resources, prompts and error output",
    "Reconnect",
    "Turn off for this session",
  ]);
  expect(last(open)).toBe("offers: ready, 2 tools.");
});

test("in the terminal: a failed server shows its reason, Esc leads back to the list", async () => {
  await using open = await openTerminal({ broken }, "broken");
  await open.session.command("/mcp");
  expect(open.asked).toHaveLength(3);
  expect(open.asked[1]!.title).toContain("\n  no database");
  expect(open.asked[1]!.options).toContain("Connect");
  expect(JSON.stringify(open.asked)).not.toContain("\\u001b");
});

test("in the terminal: shows everything of one server", async () => {
  await using open = await openTerminal({ offers }, "Show");
  await open.session.command("/mcp offers");
  expect(last(open)).toContain("mcp__offers__show-later  ~");
  expect(last(open)).toContain("/offers:review  Reviews");
});
