import {
  everyRow,
  type LoopbackServer,
  loopbackServer,
  sseChunks,
  type WireName,
  wires,
} from "@bonsai-agent/testkit";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  type Catalogue,
  type CatalogueModel,
  finalEvent,
  loadCatalogue,
  ModelClient,
  type ThinkingLevel,
  thinkingLevels,
  thinkingLevelsOf,
} from "../src/index.ts";
import { askedThinking } from "../src/thinking.ts";
import { homeWith } from "./home-with-models.ts";
import { turnOf } from "./openai-exchange.ts";

/** What is said of thinking in a request, whatever the protocol. */
const thinkingFields = ["thinking", "output_config", "reasoning", "reasoning_effort", "include"] as const;

let server: LoopbackServer;
beforeAll(async () => {
  server = await loopbackServer(({ path }) => ({
    headers: { "content-type": "text/event-stream" },
    chunks: sseChunks(wires[protocolOf(path)].answer({ text: "ok" })),
  }));
});
afterAll(() => server.close());

function protocolOf(path: string): WireName {
  if (path.endsWith("/messages")) return "anthropic-messages";
  return path.endsWith("/responses") ? "openai-responses" : "openai-chat";
}

/** The catalogue of a home whose `models.json` has one provider, which is served on the loopback device. */
function catalogueOf(provider: object): Promise<Catalogue> {
  const home = homeWith({ providers: [{ baseUrl: server.url, ...provider }] });
  return loadCatalogue({ home, env: {} });
}

/** What a request says of thinking at a level, read from its body. */
async function sent(model: CatalogueModel, thinking: ThinkingLevel): Promise<Record<string, unknown>> {
  const client = new ModelClient({ keys: { key: () => "k" }, retry: { maxRetries: 0 } });
  const end = await finalEvent(client.stream(turnOf(model, { thinking })));
  expect(end.type).toBe("done");
  const body = server.requests.at(-1)?.body as Record<string, unknown>;
  return Object.fromEntries(thinkingFields.filter((name) => name in body).map((name) => [name, body[name]]));
}

const budget = (budget_tokens: number) => ({ thinking: { type: "enabled", budget_tokens } });
const adaptive = (effort: string) => ({
  thinking: { type: "adaptive", display: "summarized" },
  output_config: { effort },
});
const include = { include: ["reasoning.encrypted_content"] };
const responses = (effort: string) => ({ ...include, reasoning: { effort, summary: "auto" } });
const effort = (reasoning_effort: string) => ({ reasoning_effort });
const switched = (type: string) => ({ thinking: { type } });

type Row = readonly [sent: object, asked: string | undefined];

/** What stands in the body, and what the footer says, for off, minimal, low, medium, high and xhigh. */
function rows(field: (value: string) => object, values: string): readonly Row[] {
  return values.split(" ").map((each) => {
    const [value = "", asked] = each.split("/");
    return [field(value), asked];
  });
}

const none = (field: (value: string) => object) => (value: string) => (value === "-" ? {} : field(value));
const budgets = none((value) => budget(Number(value)));
const efforts = rows(none(effort), "-/off low/low low/low medium/medium high/high high/high");
const nothing = rows(none(effort), "- - - - - -");
const box = (api: WireName) => ({ provider: "box", api });
const house = { id: "house" };
const reasons = (value: string) => {
  if (value === "-") return include;
  return value === "none" ? { ...include, reasoning: { effort: "none" } } : responses(value);
};
const switchedEffort = (value: string) =>
  value === "disabled" ? switched(value) : { ...switched("enabled"), ...effort(value) };

const cases: readonly (readonly [name: string, provider: object, model: object, rows: readonly Row[]])[] = [
  [
    "Anthropic Messages, reasoning: true alone",
    box("anthropic-messages"),
    house,
    rows(budgets, "-/off 1024/minimal 4096/low 10240/medium 20480/high 24000/xhigh"),
  ],
  [
    "Anthropic Messages, a budget above the output limit",
    box("anthropic-messages"),
    { ...house, maxOutputTokens: 8_192 },
    rows(budgets, "-/off 1024/minimal 4096/low 6144/low 6144/low 6144/low"),
  ],
  [
    "Anthropic Messages, an output limit without room for any budget",
    box("anthropic-messages"),
    { ...house, maxOutputTokens: 1_000 },
    nothing,
  ],
  [
    "Anthropic Messages, adaptive without xhigh",
    { provider: "anthropic" },
    { id: "claude-opus-4-6" },
    rows(none(adaptive), "-/off low/low low/low medium/medium high/high high/high"),
  ],
  [
    "Anthropic Messages, adaptive, on unless switched off",
    { provider: "anthropic" },
    { id: "claude-sonnet-5" },
    rows(
      (value) => (value === "disabled" ? switched(value) : adaptive(value)),
      "disabled/off low/low low/low medium/medium high/high xhigh/xhigh",
    ),
  ],
  [
    "Anthropic Messages, never off",
    { provider: "anthropic" },
    { id: "claude-opus-5-5" },
    rows(adaptive, "low/low low/low low/low medium/medium high/high xhigh/xhigh"),
  ],
  [
    "Responses, reasoning: true alone",
    box("openai-responses"),
    house,
    rows(reasons, "-/off low/low low/low medium/medium high/high high/high"),
  ],
  [
    "Responses, a model that can be switched off",
    { provider: "openai" },
    { id: "gpt-5.2" },
    rows(reasons, "none/off low/low low/low medium/medium high/high xhigh/xhigh"),
  ],
  [
    "Responses, one that cannot",
    { provider: "openai" },
    { id: "gpt-5-mini" },
    rows(reasons, "minimal/minimal minimal/minimal low/low medium/medium high/high high/high"),
  ],
  [
    "Responses, one effort",
    { provider: "openai" },
    { id: "gpt-5-pro" },
    rows(reasons, "high/high high/high high/high high/high high/high high/high"),
  ],
  ["Chat Completions, reasoning: true alone", { provider: "box" }, house, efforts],
  [
    "Chat Completions, the field reasoning",
    { provider: "openrouter" },
    { id: "a/b:free" },
    rows(
      none((value) => ({ reasoning: { effort: value } })),
      "-/off minimal/minimal low/low medium/medium high/high xhigh/xhigh",
    ),
  ],
  [
    "Chat Completions, a switch",
    { provider: "zai" },
    { id: "glm-5" },
    rows(switched, "disabled/off enabled/on enabled/on enabled/on enabled/on enabled/on"),
  ],
  [
    "Chat Completions, a switch and two efforts",
    { provider: "deepseek" },
    { id: "deepseek-v4-pro" },
    rows(switchedEffort, "disabled/off high/high high/high high/high high/high max/xhigh"),
  ],
  [
    "Chat Completions, on and off as efforts",
    { provider: "groq" },
    { id: "qwen/qwen3" },
    rows(effort, "none/off default/on default/on default/on default/on default/on"),
  ],
  [
    "Chat Completions, a new model of a server with an unknown word",
    { provider: "moonshotai" },
    { id: "next" },
    efforts,
  ],
  [
    "Chat Completions, a built-in one that refuses the field",
    { provider: "moonshotai" },
    { id: "kimi-k3" },
    nothing,
  ],
  [
    "Chat Completions, told to send nothing",
    { provider: "box" },
    { ...house, compat: { thinking: "none" } },
    nothing,
  ],
];

describe("shown thinking equals sent thinking", () => {
  test("each model gets its own fields for thinking", () =>
    everyRow(cases)(async ([, provider, model, rows]) => {
      const { id } = model as { id: string };
      const own = { contextWindow: 200_000, reasoning: true, ...model };
      const catalogue = await catalogueOf({ ...provider, models: [own] });
      const found = await catalogue.find(`${(provider as { provider: string }).provider}/${id}`);
      for (const [at, level] of thinkingLevels.entries())
        expect([level, await sent(found, level), askedThinking(found, level)]).toEqual([level, ...rows[at]!]);
    }));

  test("a model that cannot think gets no fields for thinking", () =>
    everyRow<WireName>(["anthropic-messages", "openai-responses", "openai-chat"])(async (api) => {
      const catalogue = await catalogueOf({
        provider: "box",
        api,
        models: [{ id: "m", contextWindow: 9_000 }],
      });
      const model = await catalogue.find("box/m");
      for (const level of thinkingLevels)
        expect([await sent(model, level), askedThinking(model, level)]).toEqual([{}, undefined]);
    }));

  test("Invariant: of all that is built in, two levels that are offered are two requests, and each request is offered", async () => {
    const { models } = await loadCatalogue({ home: homeWith({ providers: [] }), env: {} });
    for (const model of models) {
      const asked = new Set(thinkingLevels.map((level) => askedThinking(model, level)));
      asked.delete(undefined);
      const offered = thinkingLevelsOf(model).map((level) => askedThinking(model, level));
      expect([model.id, offered]).toEqual([model.id, [...asked]]);
    }
  });
});

test("an id that is not listed gets the usual thinking field if all models of its provider think", async () => {
  const models = ["a", "b"].map((id) => ({ id, contextWindow: 9_000, reasoning: true }));
  const catalogue = await catalogueOf({ provider: "box", models });
  const nobody: typeof fetch = async () => new Response(null, { status: 404 });
  const model = await catalogue.find("box/c", { fetch: nobody });
  expect(await sent(model, "high")).toEqual({ reasoning_effort: "high" });
});

test("a provider of a program that says no more than that its model thinks", async () => {
  const catalogue = await catalogueOf({ provider: "other" });
  const models = [{ id: "m", reasoning: true, contextWindow: 9_000 }];
  catalogue.add({ provider: "mine", api: "openai-chat", baseUrl: server.url, models });
  expect(await sent(await catalogue.find("mine/m"), "medium")).toEqual({ reasoning_effort: "medium" });
});
