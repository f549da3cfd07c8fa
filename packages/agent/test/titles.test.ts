import { Lifecycle } from "@bonsai-agent/lifecycle";
import { byScript } from "@bonsai-agent/messages";
import {
  type CatalogueModel,
  ModelClient,
  type ProviderCall,
  type ScenarioAnswer,
  scriptedProvider,
} from "@bonsai-agent/models";
import { openSession, type Session } from "@bonsai-agent/session";
import { history } from "@bonsai-agent/testkit";
import fc from "fast-check";
import { expect, test, vi } from "vitest";
import { type LifecycleEvents, lifecycleEventRules } from "../src/lifecycle.ts";
import { SessionTitles } from "../src/listing/session-title.ts";
import { cleanTitle, titleOf, withoutSecrets } from "../src/listing/title-text.ts";
import type { AgentNotice } from "../src/notice.ts";

test.each<[string, string, string | undefined]>([
  ["a short request as it is", "Fix the failing test", "Fix the failing test"],
  ["without its full stop", "Fix the failing test in src/cart.ts.", "Fix the failing test in src/cart.ts"],
  ["a question without its mark", "Why is the build slow?", "Why is the build slow"],
  ["the first sentence", "Add a login page. Use the old styles for it.", "Add a login page"],
  [
    "not a first sentence of one word",
    "Hm. Now the login page is broken",
    "Hm. Now the login page is broken",
  ],
  [
    "a dot inside a name ends nothing",
    "Rename a.b.c to d in index.ts now",
    "Rename a.b.c to d in index.ts now",
  ],
  ["no greeting", "Hi there, fix the parser", "Fix the parser"],
  ["no greeting before a name in code", "Hi, parseCart() drops commas", "parseCart() drops commas"],
  ["no please", "please fix the parser", "fix the parser"],
  ["a greeting on a line of its own", "Hello!\n\nThe parser drops commas.", "The parser drops commas"],
  ["no consent", "ok\nrename the module", "rename the module"],
  ["markdown's marks", "## Task\n- **Fix** the `parse()` call", "Task"],
  ["a list's first point", "- [x] done things\n- others", "[x] done things"],
  ["no code block", "```ts\nconst a = 1;\n```\nWhy does this fail?", "Why does this fail"],
  ["no file that was put in", '<file name="a.ts">\nconst a = 1;\n</file>\nExplain a.ts', "Explain a.ts"],
  ["no reminder", "<system-reminder>\nBe nice.\n</system-reminder>\nSort the imports", "Sort the imports"],
  ["a dotfile", ".gitignore should list dist", ".gitignore should list dist"],
  ["terminal colours", "\u001b[31mred\u001b[0m text is wrong", "red text is wrong"],
  ["right-to-left tricks", "open \u202egpj.exe please now", "open gpj.exe please now"],
  ["German", "Bitte behebe den Fehler im Warenkorb.", "Behebe den Fehler im Warenkorb"],
  ["Russian", "Привет! Исправь ошибку в корзине", "Исправь ошибку в корзине"],
  ["Chinese", "请修复购物车的总价。然后运行测试。", "修复购物车的总价"],
  ["Japanese", "カートの合計を直してください。", "カートの合計を直してください"],
  ["Arabic", "أصلح سلة التسوق", "أصلح سلة التسوق"],
  ["nothing but consent", "ok, thanks!", undefined],
  ["nothing but a command", "/model", undefined],
  ["nothing but a number", "42", undefined],
  ["nothing", "  \n ", undefined],
  ["nothing but code", "```\nx = 1\n```", undefined],
])("a title of a request: %s", (_, request, title) => {
  expect(titleOf(request)).toBe(title);
});

test.each<[string, string, string]>([
  [
    "at a word, without small words that lead on",
    "Refactor the payment module so that it does not depend on the legacy database layer and the old queue of the shop",
    "Refactor the payment module so that it does not depend on the legacy database layer and the old queue",
  ],
  [
    "without an open bracket",
    "Move all of the helpers of the shop into one place (see the long list in the document about helpers)",
    "Move all of the helpers of the shop into one place",
  ],
])("a long request is cut %s", (_, request, title) => {
  expect(titleOf(request)).toBe(title);
});

test("a long request without spaces is cut between characters", () => {
  const title = titleOf("修复购物车".repeat(40))!;
  expect(title.startsWith("修复购物车")).toBe(true);
  expect(byScript(title)).toBeLessThanOrEqual(20);
  expect(byScript(titleOf("x".repeat(5_000))!)).toBeLessThanOrEqual(20);
});

test.each<[string, string]>([
  ["Fix the login", "Fix the login"],
  ['"Fix the login."', "Fix the login"],
  ["Title: Fix the login", "Fix the login"],
  ["**Fix the login**\n\nThis names it.", "Fix the login"],
  ["\n\n  # Fix the login\n", "Fix the login"],
  ["“修复登录”。", "修复登录"],
])("a model's title %j becomes %j", (answer, title) => {
  expect(cleanTitle(answer)).toBe(title);
});

const secrets = [
  "sk-ant-REDACTED",
  "ghp_REDACTED",
  "AKIAIOSFODNN7EXAMPLE",
  "wJalrXUtnFEMI/K7MDENG/bPxRfiCY1EXAMPLEKEY2",
  "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl",
  "9f86d081884c7d659a2feaa0c55ad015",
  `pplx-${"abcdefghij"}`,
  `nvapi-${"abcdefghij"}`,
  `fw_${"a1b2c3d4e5".repeat(3)}`,
  `https://hooks.slack.com/services/${"TABCDEFGH/BABCDEFGH"}/abcdefgh`,
];

test.each<[string, string, string]>([
  ...secrets.map((secret): [string, string, string] => ["by its form", `deploy with ${secret} now`, secret]),
  ["in quotes", `set key "${secrets[1]}" please`, secrets[1]!],
  ["by its name", "DB_PASSWORD=hunter2 fails to connect", "hunter2"],
  ["by its name in words", "log in: the password is hunter2", "hunter2"],
  ["in a header", "curl -H 'Authorization: Bearer abc.def' fails", "abc.def"],
  ["in a header of small letters", "curl -H 'authorization: bearer abc1.def' fails", "abc1.def"],
  ["in an address", "connect to postgres://bob:hunter2@db/shop", "hunter2"],
  ["in Chinese", "密码是hunter2 登录失败了", "hunter2"],
  [
    "as a key file that is cut off",
    "use -----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\nMIIEabc",
    "MIIEabc",
  ],
  [
    "as a key file",
    "-----BEGIN PRIVATE KEY-----\nMIIEabc\n-----END PRIVATE KEY-----\nuse this key",
    "MIIEabc",
  ],
])("no secret %s: %s", (_, text, secret) => {
  expect(withoutSecrets(text)).not.toContain(secret);
  expect(titleOf(text) ?? "").not.toContain(secret.slice(0, 8));
});

test.each([
  "src/components/checkout/OrderSummary.test.tsx",
  "the token count is wrong",
  "https://example.org/a/b",
  "resetPassword()",
  "fw_version_check",
  "the basic rules of a bearer token",
])("%s is no secret", (text) => {
  expect(withoutSecrets(text)).toBe(text);
});

test("whatever the request: one line, about 20 tokens, well-formed, no trailing junk, the same each time", () => {
  const words = fc.array(
    fc.oneof(
      fc.string({ unit: "binary", maxLength: 30 }),
      fc.string({ maxLength: 30 }),
      fc.constantFrom(...secrets),
    ),
    {
      maxLength: 30,
    },
  );
  fc.assert(
    fc.property(words, (parts) => {
      const request = parts.join(" ");
      const title = titleOf(request);
      expect(titleOf(request)).toBe(title);
      if (title === undefined) return;
      expect(byScript(title)).toBeLessThanOrEqual(20);
      expect(title).toBe(title.trim());
      expect(title).not.toMatch(/\p{Cc}|\u202e|[,;:.!?…(-]$/u);
      expect(title.isWellFormed()).toBe(true);
      for (const secret of secrets) expect(title).not.toContain(secret);
    }),
  );
});

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
  const titles = new SessionTitles({
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

test("of a small model that does not stop, only the beginning is looked at", () => {
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
])("where the small model %s, the request names the session", async (_, answer, noticed) => {
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

test("a first request that a compaction has hidden still names the session", () => {
  const { session } = history('U"Explain the cart" A | U A C(u2) U"And the shop" A');
  titlesFor(session).titles.exchangeEnded();
  expect(session.name).toBe("Explain the cart");
});

test("of a long session only the beginning is read for its title", () => {
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
