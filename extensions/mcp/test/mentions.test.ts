import { afterAll, beforeAll, expect, test } from "vitest";
import { withMentions } from "../src/mentions.ts";
import { McpServers } from "../src/servers.ts";
import { offeringOverHttp } from "./http-servers.ts";

let offers: Awaited<ReturnType<typeof offeringOverHttp>>;
beforeAll(async () => {
  offers = await offeringOverHttp();
});
afterAll(() => offers[Symbol.asyncDispose]());

type Provider = Parameters<typeof withMentions>[0];

/** Completes every mention with one file. */
const files: Provider = {
  getSuggestions: async () => ({ items: [{ value: "@offer.md", label: "offer.md" }], prefix: "@of" }),
  applyCompletion: (lines) => ({ lines: [...lines, "by the program"], cursorLine: 0, cursorCol: 0 }),
};

async function completing() {
  const servers = new McpServers({ onNotice: () => {} });
  const config = {
    name: "offers",
    file: "",
    isEnabled: true,
    timeoutMs: 10_000,
    hasRoots: true,
  } as const;
  const http = { type: "http", url: offers.url, headers: {} } as const;
  await servers.use({ servers: [{ ...config, ...http }], problems: [] });
  await servers.whenConnected(AbortSignal.timeout(20_000));
  const provider = withMentions(files, servers);
  const { signal } = new AbortController();
  return {
    suggest: async (text: string) =>
      (await provider.getSuggestions([text], 0, text.length, { signal }))?.items.map(({ value }) => value) ??
      [],
    apply: (text: string, value: string, prefix: string) =>
      provider.applyCompletion([text], 0, text.length, { value, label: value }, prefix).lines.join("|"),
    [Symbol.asyncDispose]: () => servers.close(),
  };
}

test("servers, resources and templates are offered after files", async () => {
  await using it = await completing();
  expect(await it.suggest("see @of")).toEqual(["@offer.md", "@offers:"]);
  expect(await it.suggest("see @pict")).toEqual(["@offer.md", "@offers:test://picture"]);
  expect(await it.suggest("mail me@offers:")).toEqual(["@offer.md"]);
  const all = await it.suggest("see @offers:");
  expect(all).toContain("@offers:test://text");
  expect(all).toContain("@offers:test://days/");
  expect(await it.suggest("see @offers:pic")).toEqual(["@offers:test://picture"]);
});

test("a complete mention gets a blank, an incomplete one does not, and files are left to the program", async () => {
  await using it = await completing();
  await it.suggest("@of");
  expect(it.apply("@of", "@offers:", "@of")).toBe("@offers:");
  await it.suggest("@offers:t");
  expect(it.apply("see @offers:t", "@offers:test://days/", "@offers:t")).toBe("see @offers:test://days/");
  expect(it.apply("see @offers:t", "@offers:test://text", "@offers:t")).toBe("see @offers:test://text ");
  expect(it.apply("@of", "@offer.md", "@of")).toContain("by the program");
});
