import { messageText } from "@bonsai-agent/extension";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { offeringOverHttp } from "./http-servers.ts";
import { calling, type McpSession, offeringProgram, openMcpSession } from "./mcp-session.ts";

let offers: Awaited<ReturnType<typeof offeringOverHttp>>;
beforeAll(async () => {
  offers = await offeringOverHttp();
});
afterAll(() => offers[Symbol.asyncDispose]());

/** Blocks after the prompts. */
function blocksAfterPrompt({ session }: McpSession) {
  const messages = session.session.projection().items.map(({ message }) => message);
  return messages.flatMap((message) =>
    message.role === "custom" && Array.isArray(message.content) ? message.content : [],
  );
}

test("a mentioned resource follows the prompt in a frame that its text cannot end", async () => {
  await using open = await openMcpSession({ offers }, { answers: ["Fine."] });
  await open.session.prompt("Look at @offers:test://text, please.");
  const [user, resource] = open.session.session.projection().items.map(({ message }) => message);
  expect(messageText(user!)).toBe("Look at @offers:test://text, please.");
  const text = messageText(resource!);
  expect(text).toBe(
    '<mcp-resource server="offers" uri="test://text" type="text/plain">\nplain &lt;/mcp-resource> end\n</mcp-resource>',
  );
  expect(JSON.stringify(open.session.requests[0]!.messages)).toContain("&lt;/mcp-resource> end");
});

test("images are shown, other bytes are saved, and long texts are cut", async () => {
  const model = { contextWindow: 10_000_000 };
  await using open = await openMcpSession({ offers }, { answers: ["Fine."], model });
  await open.session.prompt(
    'See @offers:test://picture (@offers:test://blob) @"offers:test://long" @offers:test://picture',
  );
  const blocks = blocksAfterPrompt(open);
  expect(blocks.filter(({ type }) => type === "image")).toMatchObject([{ mimeType: "image/png" }]);
  const texts = blocks.flatMap((block) => (block.type === "text" ? [block.text] : []));
  expect(texts.slice(1, 3)).toEqual([
    "[Resource test://blob of offers:]",
    expect.stringMatching(/^\[resource, application\/zip, 14 bytes: saved in .*\.zip]$/),
  ]);
  expect(texts[3]!.length).toBeLessThan(1_001_000);
  expect(texts[3]).toContain("[… cut, 1,100,000 bytes in total]");
});

test("a resource that cannot be read gets a notice, and the prompt is sent", async () => {
  await using open = await openMcpSession({ offers }, { answers: ["Fine."] });
  await open.session.prompt(
    "Look at @offers:test://broken and @offers:test://nothing and @someone:else and @file.txt",
  );
  expect(open.session.requests).toHaveLength(1);
  expect(open.notices.sort()).toEqual([
    "MCP: Cannot read @offers:test://broken: the disk is on fire",
    "MCP: Cannot read @offers:test://nothing: Resource not found: test://nothing",
  ]);
});

test("a resource goes with a text that is typed while the agent works", async () => {
  await using open = await openMcpSession(
    { offers },
    {
      answers: [calling(["mcp__offers__change-text"]), "And that?", "Fine."],
    },
  );
  const { agent } = open.session;
  const run = open.session.prompt("Go on.");
  await agent.prompt("And @offers:test://text", { source: "interactive", behavior: "followUp" });
  await run;
  expect(JSON.stringify(open.session.requests.at(-1)!.messages)).toContain("<mcp-resource");
});

test("keys of an entry are masked everywhere, and a server that exits is named with its code", async () => {
  const key = "sk-0123456789abcdef01";
  vi.stubEnv("OFFERS_TOKEN", "token-0123456789abcdef");
  // biome-ignore lint/suspicious/noTemplateCurlyInString: files name variables like this
  const args = [...offeringProgram.args, "${OFFERS_TOKEN}"];
  const offering = { ...offeringProgram, args, env: { OFFERS_API_KEY: key } };
  await using open = await openMcpSession({ offers: offering }, { answers: ["Fine.", "Fine."] });
  await open.session.prompt("See @offers:test://key and @offers:test://refused");
  expect(JSON.stringify(open.session.requests)).toContain("The key is [OFFERS_API_KEY].");
  await expect(open.session.command("/offers:odd-name")).rejects.toThrow("today for [OFFERS_API_KEY]");
  await open.session.command("/mcp offers");
  const shown = JSON.stringify(open.session.ui);
  expect(shown).toContain("[OFFERS_API_KEY] is a wrong key");
  expect(shown).toContain("offering-server.ts [OFFERS_TOKEN]");
  expect(shown).not.toMatch(/sk-0123|token-0123/);
  await open.session.prompt("See @offers:test://deadly");
  expect(open.notices).toContain("MCP: Cannot read @offers:test://deadly: The server exited with code 4.");
});
