import { afterAll, beforeAll, expect, test } from "vitest";
import { begunArgument, readArguments } from "../src/prompt-arguments.ts";
import { offeringOverHttp } from "./http-servers.ts";
import { calling, type McpSession, offeringProgram, openMcpSession } from "./mcp-session.ts";

let offers: Awaited<ReturnType<typeof offeringOverHttp>>;
beforeAll(async () => {
  offers = await offeringOverHttp();
});
afterAll(() => offers[Symbol.asyncDispose]());

const commands = ({ session }: McpSession) => session.extensions.commands.map(({ name }) => name);

/** Once the servers are connected. */
async function ready(open: McpSession): Promise<McpSession> {
  await open.session.command("/mcp");
  return open;
}

test("what a prompt gives is sent: texts, images, resources; the model's part as such", async () => {
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

test("have their description, with their arguments in front", async () => {
  await using open = await ready(await openMcpSession({ offers }));
  const about = open.session.extensions.commands.find(({ name }) => name === "offers:review");
  expect(about?.description).toBe("<what> [how] – Reviews");
});

test("what is missing is asked for, until it is given or left", async () => {
  const input = ["", "the code", undefined];
  await using open = await ready(await openMcpSession({ offers }, { answers: ["Fine."], ui: { input } }));
  await open.session.command("/offers:review");
  await open.session.agent.idle();
  expect(JSON.stringify(open.session.requests[0]!.messages)).toContain("Review the code well");
  await open.session.command("/offers:review");
  expect(open.session.requests).toHaveLength(1);
});

test("where nobody can be asked, what is missing is named, with how to give it", async () => {
  await using open = await openMcpSession({ offers }, { ui: undefined as never, mode: "print" });
  await expect(open.session.command("/offers:review")).rejects.toMatchObject({
    message: expect.stringContaining("/offers:review needs a value for what."),
    hint: expect.stringContaining("/offers:review <what> [how]"),
  });
});

test("one that fails is named, in the server's words", async () => {
  await using open = await ready(await openMcpSession({ offers }));
  await expect(open.session.command("/offers:odd-name")).rejects.toThrow("no prompt today");
});

test("commands come and go with the server's list", async () => {
  await using open = await ready(
    await openMcpSession(
      { offers: offeringProgram },
      { answers: [calling(["mcp__offers__show-later"]), "Fine."] },
    ),
  );
  expect(commands(open)).not.toContain("offers:later");
  await open.session.prompt("Show it.");
  await expect.poll(() => commands(open), { timeout: 30_000 }).toContain("offers:later");
  await open.session.command("/mcp off offers");
  expect(commands(open)).toEqual(["mcp"]);
});

test("arguments are completed by the server", async () => {
  await using open = await ready(await openMcpSession({ offers }));
  const complete = (text: string) => open.session.extensions.completeCommand("offers:promote", text);
  expect((await complete("Eng")).map(({ value }) => value)).toEqual(["Engineering"]);
  expect((await complete("Engineering ")).map(({ label }) => label)).toContain("Alice");
  expect((await complete("Engineering name=B")).map(({ value }) => value)).toEqual(["Engineering name=Bob"]);
});

const declared = [
  { name: "city", required: true },
  { name: "note", required: false },
];

test.each([
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
])("%s is read as %o", (text, values) => {
  expect(readArguments(text, declared).values).toEqual(values);
});

test("the argument that is being typed is known", () => {
  expect(begunArgument("Bo", declared)).toMatchObject({
    argument: { name: "city" },
    value: "Bo",
    before: "",
  });
  expect(begunArgument("Bonn ", declared)).toMatchObject({
    argument: { name: "note" },
    value: "",
    before: "Bonn ",
  });
  expect(begunArgument("note=c", declared)).toMatchObject({
    argument: { name: "note" },
    value: "c",
    before: "note=",
  });
  expect(begunArgument("Bonn x y", declared)).toBeUndefined();
});
