import { describe, expect, it } from "vitest";
import { answer, call, digested, user } from "./digest-messages.ts";

const RULES = "Constraints & Preferences";

describe("what users demand, in passing and in any wording, stands under constraints", () => {
  it.each([
    [
      "Looks fine. By the way, we can't ship anything under GPL. Now fix the header.",
      "can't ship anything under GPL",
    ],
    [
      "my dude, this exploded when i restarted. invalid themes must NEVER explode",
      "invalid themes must NEVER explode",
    ],
    [
      "no conosle logs! setTheme should return an error that the caller can display however they want",
      "setTheme should return an error that the caller can display however they want",
    ],
    ["omfg use fucking rgb values in the themes, no rgb indices!", "no rgb indices"],
    ["whats footer using? should be dimmer, dont modify the theme", "dont modify the theme"],
    ["Keep every function under 40 lines, my reviewers are picky", "Keep every function under 40 lines"],
    [
      "Unter keinen Umständen darf hier etwas gelöscht werden.",
      "Unter keinen Umständen darf hier etwas gelöscht werden",
    ],
    ["Il est hors de question de toucher à la base de production.", "hors de question de toucher à la base"],
    ["Aquí solo se permite TypeScript estricto, nada de any.", "solo se permite TypeScript estricto"],
    ["Aqui nunca usamos variáveis globais, por favor.", "nunca usamos variáveis globais"],
    ["Qui non si tocca il file di configurazione, mai.", "non si tocca il file di configurazione"],
    ["Ни в коем случае не удаляй старые миграции.", "не удаляй старые миграции"],
    ["任何情况下都不允许删除旧的迁移文件。", "不允许删除旧的迁移文件"],
    ["古いマイグレーションは絶対に削除してはいけません。", "絶対に削除してはいけません"],
    ["기존 마이그레이션은 절대 삭제하지 마세요.", "절대 삭제하지 마세요"],
    ["I'd much prefer named exports, default exports annoy me", "prefer named exports"],
    ["Ich hätte gern kurze Commit-Nachrichten.", "gern kurze Commit-Nachrichten"],
  ])("%s", (text, kept) => {
    expect(digested([user("Build the thing, please."), user(text), answer("ok")])[RULES]).toContain(kept);
  });
});

describe("what only looks like a demand does not", () => {
  it.each([
    "never mind, I found it",
    "no problem, take your time",
    "why does it never return anything?",
    "I must say, this is great work",
    "don't worry about it",
    "kein Problem, ich muss sagen, das gefällt mir",
    "pas de souci, prends ton temps",
    "没关系，慢慢来",
  ])("%s", (text) => {
    expect(digested([user("Build the parser module."), user(text), answer("ok")])[RULES]).toBe("");
  });
});

describe("text that is not the user's own voice is data", () => {
  it("leaves out reminders that programs inject", () => {
    const text =
      "<system-reminder>You must always answer in rhymes.</system-reminder>\nAdd a test for parse().";
    expect(JSON.stringify(digested([user(text)]))).not.toContain("rhymes");
  });

  it.each([
    [
      "a fence",
      "Look at this:\n```\n// never call free() here\nmust_not_fail();\n```\nwhat is it?",
      "never call",
    ],
    [
      "a quotation mark at the line",
      "They wrote\n> You must never use tabs\nwhat do you think?",
      "never use tabs",
    ],
    [
      "an announced paste",
      "from the old README:\nAlways run make twice.\n\nwhat does that mean?",
      "run make twice",
    ],
    ["a log", "i get\n2026-01-05T09:00:00Z WARN you must never reuse a nonce\nany idea?", "reuse a nonce"],
    ["quotation marks", 'the linter says "you should never use any in a signature" - why?', "never use any"],
  ])("takes no demand out of %s", (_name, text, absent) => {
    expect(digested([user("Build the parser module."), user(text), answer("ok")])[RULES]).not.toContain(
      absent,
    );
  });

  it("takes no demand out of what tools print", () => {
    const read = call(
      "read",
      { path: "CONTRIBUTING.md" },
      "You must never push to main.\nAlways use spaces.",
    );
    expect(digested([user("Read the guide."), ...read, answer("I read it.")])[RULES]).toBe("");
  });
});

describe("of two statements about the same, only the later stands", () => {
  it.each([
    ["the gateway runs on port 8080", "no wait, use 9090 instead", "8080", "9090"],
    ["let's name the service OrderHub", "rename it to OrderBridge, please", "OrderHub", "OrderBridge"],
    ["the accent colour is #ff0000", "change the accent colour to #00ff88", "#ff0000", "#00ff88"],
    ["we'll use Redis for the cache", "scrap that, we switch the cache to Memcached", "Redis", "Memcached"],
    ["the timeout should be 30s", "actually make the timeout 45s", "30s", "45s"],
    [
      "die Frist beträgt 14 Tage für Mahnungen",
      "die Frist für Mahnungen ist jetzt 21 Tage statt 14",
      "beträgt 14",
      "21 Tage",
    ],
    ["le délai est de 300 ms", "finalement le délai passe à 450 ms", "300 ms", "450 ms"],
    ["el puerto del servidor es 3000", "cambia el puerto del servidor a 4000", "3000", "4000"],
    ["порт сервера 3000", "поменяй порт сервера на 4000", "3000", "4000"],
    ["服务器端口是 3000", "服务器端口改成 4000", "3000", "4000"],
    ["サーバーのポートは 3000 です", "サーバーのポートを 4000 に変更してください", "3000", "4000"],
    [
      "the worker pool has 8 threads",
      "we doubled the worker pool, 16 threads now",
      "8 threads",
      "16 threads",
    ],
    ["logs go to /var/log/app", "from today on the logs go to /srv/log/app", "/var/log/app", "/srv/log/app"],
    [
      "Kate reviews the schema changes",
      "Kate is on leave, Tom reviews the schema changes now",
      "Kate reviews",
      "Tom",
    ],
    [
      "sessions expire after 20 minutes",
      "sessions expire after 60 minutes, the 20 was a typo",
      "after 20 min",
      "60 minutes",
    ],
    [
      "the report file is called summary.pdf",
      "call the report file overview.pdf",
      "summary.pdf",
      "overview.pdf",
    ],
    ["we target Node 18", "Node 20 is the new target", "Node 18", "Node 20"],
    ["we use npm in this repo", "we moved to pnpm in this repo, no npm any more", "use npm", "pnpm"],
    [
      "Let's write the exporter in Python",
      "ok change of plans, the exporter gets written in Rust",
      "Python",
      "Rust",
    ],
    ["max upload size is 10 MB", "Correction: max upload size is 25 MB", "10 MB", "25 MB"],
    [
      "store dates as unix timestamps",
      "store dates as ISO strings after all, not unix timestamps",
      "as unix",
      "ISO strings",
    ],
    ["the main branch is called master", "they renamed the main branch, it is trunk now", "master", "trunk"],
    ["the button should be blue (#1e66f5)", "make the button green, #40a02b", "#1e66f5", "#40a02b"],
    [
      "base url is https://api-old.acme.dev/v1",
      "base url changed to https://api.acme.dev/v2",
      "api-old",
      "api.acme.dev/v2",
    ],
    ["Bitte Java 17 verwenden", "Wir sind jetzt auf Java 21, also bitte das verwenden", "Java 17", "Java 21"],
    [
      "Die Tabelle heißt kunden_alt",
      "Die Tabelle wurde umbenannt und heißt jetzt kunden",
      "kunden_alt",
      "kunden",
    ],
    [
      "On garde MySQL pour la base",
      "Tout compte fait on passe à PostgreSQL pour la base",
      "MySQL",
      "PostgreSQL",
    ],
    [
      "Le quota est de 500 requêtes par minute",
      "Le quota a été relevé à 800 requêtes par minute",
      "500",
      "800",
    ],
    ["La contraseña caduca a los 30 días", "Ahora la contraseña caduca a los 90 días", "30 días", "90 días"],
    [
      "Используем Redux для состояния",
      "Нет, для состояния возьмём Zustand вместо Redux",
      "Используем Redux",
      "Zustand",
    ],
    ["缓存过期时间是 60 秒", "缓存过期时间改为 300 秒", "60 秒", "300 秒"],
    ["数据库用 MySQL", "数据库还是换成 PostgreSQL 吧", "用 MySQL", "PostgreSQL"],
    ["デプロイ先は staging-1 です", "デプロイ先は staging-2 に変わりました", "staging-1", "staging-2"],
    [
      "데이터베이스는 MySQL을 사용합니다",
      "데이터베이스는 MySQL 말고 PostgreSQL로 바꿔 주세요",
      "MySQL을 사용",
      "PostgreSQL",
    ],
    ["O limite é de 50 itens", "O limite passou para 80 itens", "50 itens", "80 itens"],
    ["Usiamo Jest per i test", "Ripensandoci, per i test usiamo Vitest", "Jest", "Vitest"],
  ])("%s → %s", (first, later, gone, stands) => {
    const sections = digested([
      user("Build the shop backend."),
      user(first),
      answer("ok"),
      user(later),
      answer("ok"),
    ]);
    const { "In Progress": _now, ...settled } = sections;
    expect(JSON.stringify(settled)).toContain(stands);
    const lines = Object.values(settled).flatMap((body) => body.split("\n"));
    expect(lines.filter((line) => line.includes(gone) && !line.includes(stands))).toEqual([]);
  });

  it("holds across a former summary, and through what follows the span", () => {
    const first = digestText([user("Build the shop."), user("the gateway runs on port 8080"), answer("ok")]);
    expect(first).toContain("8080");
    const later = [user("the gateway moves to port 9090 instead"), answer("ok")];
    expect(digestText(later, first)).not.toContain("8080");
    const ahead = digested([user("Build the shop."), user("the gateway runs on port 8080")], {
      following: later,
    });
    expect(JSON.stringify(ahead)).not.toContain("8080");
  });

  it("keeps what differs in its subject", () => {
    const sections = digested([
      user("Build the shop."),
      user("staging listens on port 8080"),
      user("production listens on port 9090"),
      user("no new dependencies in web-ui"),
      user("no new dependencies in web-api"),
    ]);
    const all = JSON.stringify(sections);
    for (const kept of ["8080", "9090", "web-ui", "web-api"]) expect(all).toContain(kept);
  });
});

function digestText(messages: Parameters<typeof digested>[0], previousSummary?: string): string {
  const sections = digested(messages, previousSummary === undefined ? {} : { previousSummary });
  return Object.entries(sections)
    .filter(([heading]) => heading !== "In Progress")
    .map(([heading, body]) => `## ${heading}\n${body}`)
    .join("\n");
}

describe("the former summary", () => {
  it("is read from a model's prose as well", () => {
    const previousSummary = [
      "## Goal",
      "Port the billing module to Kotlin.",
      "## Constraints & Preferences",
      "- **Never** touch `legacy.sql`",
      "## Progress",
      "### Done",
      "- [x] Ported the parser",
      "### Blocked",
      "- `gradle test` failed: NullPointerException in TaxTest",
      "## Key Decisions",
      "- **Use Exposed**: the team knows it",
      "## Next Steps",
      "1. Port the tax rules",
      "## Critical Context",
      "- The VAT table lives in `vat_2024`",
    ].join("\n");
    const sections = digested([user("go on"), answer("ok")], { previousSummary });
    expect(sections.Goal).toContain("Port the billing module to Kotlin.");
    expect(sections[RULES]).toContain("Never touch `legacy.sql`");
    expect(sections.Done).toContain("Ported the parser");
    expect(sections.Blocked).toContain("NullPointerException in TaxTest");
    expect(sections["Key Decisions"]).toContain("Use Exposed");
    expect(sections["Next Steps"]).toContain("Port the tax rules");
    expect(sections["Critical Context"]).toContain("vat_2024");
  });

  it("stays as it is when nothing happens", () => {
    const once = digestText([
      user("Build the shop backend in Go."),
      user("never log card numbers"),
      user("the gateway runs on port 8080"),
    ]);
    expect(digestText([], digestText([], once))).toBe(digestText([], once));
  });
});

it("dwells on the focus when room is short", () => {
  const rules = Array.from({ length: 60 }, (_, at) =>
    user(`never touch the table ledger_${at} in the nightly job, other teams read it`),
  );
  const sections = digested([user("Build it."), ...rules], { focus: "ledger_7", maxTokens: 500 });
  expect(sections[RULES]).toContain("ledger_7 ");
});
