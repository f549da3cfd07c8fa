import type { ExtensionAPI } from "@bonsai-agent/extension";
import { expect, test } from "vitest";
import mcpExtension from "../index.ts";
import { everythingOverHttp } from "./http-servers.ts";
import { calling, openMcpSession } from "./mcp-session.ts";

const isOfServer = (name: string) => name.startsWith("mcp_");

/** A command that selects the larger model. */
function larger(bonsai: ExtensionAPI): void {
  bonsai.registerCommand("large", {
    handler: async (_args, ctx) => void (await bonsai.setModel(ctx.modelRegistry.find("scripted", "large")!)),
  });
}

test("tools that cost more than a tenth of the window are offered by search, and by name with a larger window", async () => {
  await using everything = await everythingOverHttp();
  await using mcp = await openMcpSession(
    { everything: { ...everything, roots: false }, off: { ...everything, enabled: false } },
    {
      extensions: [mcpExtension, larger],
      model: { id: "small", contextWindow: 8_000 },
      otherModels: [{ id: "large", contextWindow: 1_000_000 }],
      answers: [
        calling(["mcp_search", { query: "add two numbers", limit: 2 }]),
        calling(
          ["mcp_call", { name: "mcp__everything__get-sum", arguments: { a: "2", b: "3" } }],
          ["mcp_call", { name: "mcp__everything__sum", arguments: {} }],
          ["mcp_search", { query: "hologram" }],
        ),
        "Done.",
        "Done with another model.",
      ],
    },
  );
  await mcp.session.prompt("Go.");
  const tools = mcp.session.requests.map(({ tools }) => tools.map(({ name }) => name).filter(isOfServer));
  expect(tools).toEqual(Array(3).fill(["mcp_call", "mcp_search"]));
  const [found, sum, unknown, nothing] = mcp.results();
  expect(found!.text).toMatch(
    /^mcp__everything__get-sum\nReturns the sum of two numbers\nparameters: \{"type":"object"/,
  );
  expect(sum).toMatchObject({ text: expect.stringContaining("2 and 3 is 5"), isError: false });
  expect(unknown).toMatchObject({
    isError: true,
    text: expect.stringMatching(/No tool is named mcp__everything__sum\.\nmcp__everything__get-sum/),
  });
  expect(nothing!.text).toMatch(/^No match\. Available tools:\nmcp__everything__echo\n/);
  const declared = (name: string) =>
    mcp.session.requests[0]!.tools.find((tool) => tool.name === name)!.description;
  expect(declared("mcp_search")).toContain("MCP servers everything by keywords");

  await mcp.session.command("/large");
  await mcp.session.prompt("Go on.");
  expect(mcp.offered()).toContain("mcp__everything__get-sum");
  expect(mcp.offered()).not.toContain("mcp_search");
});

test("tools of a late server are found by search until a compaction, and the declared tools stay the same", async () => {
  await using everything = await everythingOverHttp();
  await using mcp = await openMcpSession(
    { everything: { ...everything, roots: false } },
    {
      flags: { "mcp-wait": "0" },
      answers: [
        "Nothing there. ".repeat(2_000),
        calling(["mcp_call", { name: "mcp__everything__get-sum", arguments: { a: 2, b: 3 } }]),
        "Five.",
        "By name.",
        "Without it.",
      ],
    },
  );
  await mcp.session.prompt("Go.");
  // Waits for the server.
  await mcp.session.command("/mcp");
  await mcp.session.prompt("Add 2 and 3.");
  const { requests, agent } = mcp.session;
  const tools = () => requests.map(({ tools }) => JSON.stringify(tools));
  expect(mcp.offered()).toEqual(["mcp_call", "mcp_search"]);
  expect(new Set(tools()).size).toBe(1);
  expect(JSON.stringify(requests[1]!.messages)).toContain("The MCP server everything now has other tools.");
  expect(mcp.results()[0]!.text).toContain("2 and 3 is 5");

  await agent.compact({ useDigest: true, firstKeptEntryId: agent.session.leafId! });
  await mcp.session.prompt("By name?");
  expect(mcp.offered()).toContain("mcp__everything__get-sum");
  expect(mcp.offered()).not.toContain("mcp_search");
  await mcp.session.command("/mcp off everything");
  await mcp.session.prompt("Without it?");
  expect(mcp.offered()).toEqual([]);
});
