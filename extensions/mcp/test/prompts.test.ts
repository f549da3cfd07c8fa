import { everyRow } from "@bonsai-agent/testkit";
import { afterAll, beforeAll, expect, test } from "vitest";
import { readArguments } from "../src/prompt-arguments.ts";
import { offeringOverHttp } from "./http-servers.ts";
import { calling, type McpSession, openMcpSession } from "./mcp-session.ts";

let offers: Awaited<ReturnType<typeof offeringOverHttp>>;
beforeAll(async () => {
  offers = await offeringOverHttp();
});
afterAll(() => offers[Symbol.asyncDispose]());

const commands = ({ session }: McpSession) => session.extensions.commands.map(({ name }) => name);

/** Waits for the servers. */
async function ready(open: McpSession): Promise<McpSession> {
  await open.session.command("/mcp");
  return open;
}

test("a prompt sends texts, images and resources, and marks messages of the assistant", async () => {
  await using open = await ready(await openMcpSession({ offers }, { answers: ["Fine."] }));
  await open.session.command('/offers:review how="very well" "the code"');
  await open.session.agent.idle();
  const [message] = open.session.requests[0]!.messages;
  const sent = JSON.stringify(message);
  expect(sent).toContain("Review the code very well");
  expect(sent).toContain("[assistant]: I will.");
  expect(sent).toContain('"type":"image"');
  expect(sent).toContain("inner text");
});

test("the description of a prompt begins with its arguments", async () => {
  await using open = await ready(await openMcpSession({ offers }));
  const about = open.session.extensions.commands.find(({ name }) => name === "offers:review");
  expect(about?.description).toBe("<what> [how] – Reviews");
});

test("a missing argument is asked for until the user gives it or leaves", async () => {
  const input = ["", "the code", undefined];
  await using open = await ready(await openMcpSession({ offers }, { answers: ["Fine."], ui: { input } }));
  await open.session.command("/offers:review");
  await open.session.agent.idle();
  expect(JSON.stringify(open.session.requests[0]!.messages)).toContain("Review the code well");
  await open.session.command("/offers:review");
  expect(open.session.requests).toHaveLength(1);
});

test("without a user, a missing argument is an error with the usage", async () => {
  await using open = await openMcpSession({ offers }, { ui: undefined as never, mode: "print" });
  await expect(open.session.command("/offers:review")).rejects.toMatchObject({
    message: expect.stringContaining("/offers:review needs a value for what."),
    hint: expect.stringContaining("/offers:review <what> [how]"),
  });
});

test("a failed prompt shows the server's reason", async () => {
  await using open = await ready(await openMcpSession({ offers }));
  await expect(open.session.command("/offers:odd-name")).rejects.toThrow("no prompt today");
});

test("commands follow the server's list", async () => {
  await using open = await ready(
    await openMcpSession({ offers }, { answers: [calling(["mcp__offers__show-later"]), "Fine."] }),
  );
  expect(commands(open)).not.toContain("offers:later");
  await open.session.prompt("Show it.");
  await expect.poll(() => commands(open), { timeout: 30_000 }).toContain("offers:later");
  await open.session.command("/mcp off offers");
  expect(commands(open)).toEqual(["mcp"]);
});

const declared = [
  { name: "city", required: true },
  { name: "note", required: false },
];

const texts: [text: string, values: object][] = [
  ["Bonn", { city: "Bonn" }],
  ["Bonn and the rest", { city: "Bonn", note: "and the rest" }],
  ['"New York" note=cold', { city: "New York", note: "cold" }],
  ["note=cold Bonn", { city: "Bonn", note: "cold" }],
  ['note="very cold" Bonn', { city: "Bonn", note: "very cold" }],
  ["a=b", { city: "a=b" }],
  ['"city=x"', { city: "city=x" }],
  ["it's", { city: "it's" }],
  ['"not closed', { city: "not closed" }],
  ["", {}],
];

test("arguments are read by position, by name and in quotes", () =>
  everyRow(texts)(([text, values]) => expect(readArguments(text, declared).values).toEqual(values)));
