import { Lifecycle } from "@bonsai-agent/lifecycle";
import { type CatalogueModel, ModelClient, type ProviderCall } from "@bonsai-agent/models";
import { type ScenarioAnswer, scriptedProvider } from "@bonsai-agent/models/scripted";
import { createSession, openSession, type Session } from "@bonsai-agent/session";
import { history } from "@bonsai-agent/testkit";
import { expect, test, vi } from "vitest";
import { type LifecycleEvents, lifecycleEventRules } from "../src/lifecycle.ts";
import { SessionListing } from "../src/listing/session-listing.ts";
import { cleanTitle } from "../src/listing/title-text.ts";
import type { AgentNotice } from "../src/notice.ts";
import { secrets } from "./secret-examples.ts";

const small: CatalogueModel = {
  provider: "scripted",
  id: "small",
  name: "Small",
  api: "scripted",
  baseUrl: "",
  input: ["text"],
  reasoning: false,
  contextWindow: 20_000,
  maxOutputTokens: 2_000,
};

function titlesFor(session: Session, options: { play?: (call: ProviderCall) => ScenarioAnswer } = {}) {
  const lifecycle = new Lifecycle<LifecycleEvents>({ rules: lifecycleEventRules });
  const told: (string | undefined)[] = [];
  lifecycle.on("session_info_changed", ({ name }) => void told.push(name));
  const calls: ProviderCall[] = [];
  const notices: AgentNotice[] = [];
  const { play } = options;
  const models = new ModelClient({
    retry: { maxRetries: 0 },
    providers: {
      scripted: async () =>
        scriptedProvider((call) => {
          calls.push(call);
          return play!(call);
        }),
    },
  });
  const titles = new SessionListing({
    settings: { titles: true },
    session,
    lifecycle,
    models,
    ...(play === undefined ? {} : { smallModel: small }),
    onNotice: (notice) => void notices.push(notice),
  });
  const exchangeEnded = () =>
    titles.runEnded({ result: { status: "done", answer: {} as never }, messages: () => [] });
  return { titles: { exchangeEnded, close: () => titles.close() }, told, calls, notices };
}

/** The request is over, and whatever it set off. */
async function named(session: Session): Promise<string | undefined> {
  for (let turn = 0; turn < 100 && session.name === undefined; turn += 1) await new Promise(setImmediate);
  return session.name;
}

const exchange = () => history('U"Fix the cart\'s total" A"It was the rounding."').session;

test("without a small model the first request names the session at once, with an event", async () => {
  const session = exchange();
  const { titles, told } = titlesFor(session);
  titles.exchangeEnded();
  expect(session.name).toBe("Fix the cart's total");
  await titles.close();
  expect(told).toEqual(["Fix the cart's total"]);
});

test("a small model names it in the background, with one request that the session's cost counts", async () => {
  const session = exchange();
  const { titles, told, calls } = titlesFor(session, { play: () => ({ text: "Rounding in the cart" }) });
  titles.exchangeEnded();
  titles.exchangeEnded();
  expect(session.name).toBeUndefined();
  expect(await named(session)).toBe("Rounding in the cart");
  await titles.close();
  expect(told).toEqual(["Rounding in the cart"]);
  expect(calls).toHaveLength(1);
  expect(calls[0]).toMatchObject({ purpose: "title", tools: [], model: { id: "small" } });
  expect(JSON.stringify(calls[0]?.messages)).toContain("It was the rounding.");
  expect(session.entries().filter(({ type }) => type === "usage")).toMatchObject([
    { kind: "title", model: "small" },
  ]);
});

test("secrets do not reach the small model", async () => {
  const { session } = history(`U"Deploy the shop with ${secrets[0]}" A"Done."`);
  const { titles, calls } = titlesFor(session, { play: () => ({ text: "Deploy the shop" }) });
  titles.exchangeEnded();
  await named(session);
  expect(JSON.stringify(calls[0]?.messages)).not.toContain(secrets[0]);
});

test("a secret where the request is cut does not reach it in part, nor one that the answer quotes", async () => {
  const secret = "9f86d081884c7d659a2feaa0c55ad015";
  const request = `Deploy the shop ${"x ".repeat(983)}${secret}`;
  const { session } = history(`U"${request}" A"It has ${secret}."`);
  const { titles, calls } = titlesFor(session, { play: () => ({ text: "Deploy the shop" }) });
  titles.exchangeEnded();
  await named(session);
  expect(JSON.stringify(calls[0]?.messages)).toContain("Deploy the shop");
  expect(JSON.stringify(calls[0]?.messages)).not.toContain(secret.slice(0, 6));
});

test("makes a title of the beginning of an endless answer", () => {
  const answer = `Rounding in the cart\n${"<a>".repeat(1_000_000)}`;
  expect(cleanTitle(answer)).toBe("Rounding in the cart");
});

test("a session that cannot be written to gets no title and asks for none", async () => {
  const { store } = exchange();
  Object.defineProperty(store, "readOnly", { value: "Another program writes it." });
  const session = openSession({ store });
  const { titles, calls, notices } = titlesFor(session, { play: () => ({ text: "x" }) });
  titles.exchangeEnded();
  await titles.close();
  expect([calls, notices]).toEqual([[], []]);
});

test.each<[string, ScenarioAnswer, number]>([
  ["fails", { error: { status: 401, message: "no key" } }, 1],
  ["says nothing", { text: "" }, 0],
  ["says nothing of use", { text: "…" }, 0],
])("the request names the session if the small model %s", async (_, answer, noticed) => {
  const session = exchange();
  const { titles, notices } = titlesFor(session, { play: () => answer });
  titles.exchangeEnded();
  expect(await named(session)).toBe("Fix the cart's total");
  expect(notices).toHaveLength(noticed);
});

test("closing ends a request under way, and the request names the session", async () => {
  const session = exchange();
  const { titles, notices } = titlesFor(session, {
    play: () => ({ text: "Never heard", delayMs: 1_000_000 }),
  });
  titles.exchangeEnded();
  await titles.close();
  expect(session.name).toBe("Fix the cart's total");
  expect(notices).toEqual([]);
  titles.exchangeEnded();
  expect(session.entries().filter(({ type }) => type === "session_info")).toHaveLength(1);
});

test.each<[string, (session: Session) => void]>([
  ["a name that a user gave", (session) => session.append({ type: "session_info", name: "Mine" })],
  ["a name that a user took away", (session) => session.append({ type: "session_info" })],
])("%s stays", async (_, change) => {
  const before = exchange();
  change(before);
  const { name } = before;
  titlesFor(before).titles.exchangeEnded();
  expect(before.name).toBe(name);

  const during = exchange();
  const { titles } = titlesFor(during, {
    play: () => {
      change(during);
      return { text: "Too late" };
    },
  });
  titles.exchangeEnded();
  await new Promise(setImmediate);
  await titles.close();
  expect(during.name).toBe(name);
});

test("a greeting names nothing; the next exchange does", () => {
  const { session } = history('U"hello" A"Hello."');
  const { titles } = titlesFor(session);
  titles.exchangeEnded();
  expect(session.name).toBeUndefined();
  history('U"Explain the cart" A', session);
  titles.exchangeEnded();
  expect(session.name).toBe("Explain the cart");
});

test("the small model sees the names of attached files", async () => {
  const session = createSession({ cwd: "/p" });
  const content = 'Fix @a.ts\n\n<file path="a.ts">\nlet everything;\n</file>';
  session.append({ type: "message", message: { role: "user", content, timestamp: 0 } });
  const { titles, calls } = titlesFor(session, { play: () => ({ text: "Fix a" }) });
  titles.exchangeEnded();
  await named(session);
  expect(JSON.stringify(calls[0]?.messages)).toContain("Fix @a.ts");
  expect(JSON.stringify(calls[0]?.messages)).not.toContain("everything");
});

test("a first request that a compaction has hidden still names the session", () => {
  const { session } = history('U"Explain the cart" A | U A C(u2) U"And the shop" A');
  titlesFor(session).titles.exchangeEnded();
  expect(session.name).toBe("Explain the cart");
});

test("reads only the beginning of a long session for its title", () => {
  const { session } = history('U"Fix the cart" A"Done." U"and the shop" A"Done."');
  const parent = session.path();
  for (let turn = 0; turn < 300; turn += 1)
    session.append({ type: "message", message: { role: "user", content: "on", timestamp: 1 } });
  session.append({ type: "compaction", summary: "x", firstKeptEntryId: session.leafId!, tokensBefore: 1 });
  const read = vi.spyOn(session, "entryAt");
  const path = vi.spyOn(session, "path");
  titlesFor(session).titles.exchangeEnded();
  expect(session.name).toBe("Fix the cart");
  expect(read.mock.calls.length).toBeLessThanOrEqual(parent.length + 1);
  expect(path).not.toHaveBeenCalled();
});

test("a title adds nothing to what the model sees", () => {
  const session = exchange();
  const before = session.projection().items.length;
  titlesFor(session).titles.exchangeEnded();
  expect(session.projection().items).toHaveLength(before);
});
