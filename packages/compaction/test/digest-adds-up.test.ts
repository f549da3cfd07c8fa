import { describe, expect, it } from "vitest";
import { answer, digested, user } from "./digest-messages.ts";

const GOALS = {
  en: "Build the shop backend.",
  de: "Baue bitte das Backend für den Laden.",
  zh: "请构建商店的后端。",
  ja: "ショップのバックエンドを作ってください。",
};

/** The lines that stand after both were said, each in a message of its own. */
function linesAfter(language: keyof typeof GOALS, first: string, later: string): string[] {
  const sections = digested([user(GOALS[language]), user(first), answer("ok"), user(later), answer("ok")]);
  const { "In Progress": _now, ...settled } = sections;
  return Object.values(settled).flatMap((body) => body.split("\n"));
}

const bare = (text: string): string => text.replace(/[.。]$/, "");

describe("rules about different things of one shape add up", () => {
  it.each([
    ["en", "Never touch X-1001.", "Never touch X-1002."],
    ["en", "Never touch ticket 1001.", "Never touch ticket 1002."],
    ["en", "Do not use port 8080.", "Do not use port 9090."],
    ["en", "Never push to main.", "Never push to release."],
    ["en", "Never push to `main`.", "Never push to `release`."],
    ["en", "Never edit schema.sql.", "Never edit seed.sql."],
    ["en", "Never drop the table orders_2023.", "Never drop the table orders_2024."],
    ["en", "Never update table 17.", "Never update table 18."],
    ["en", "Never call `chargeCard` in tests.", "Never call `refundCard` in tests."],
    ["en", "Never downgrade to version 3.1.", "Never downgrade to version 3.2."],
    ["en", "Don't touch ticket 1001 any more.", "Don't touch ticket 1002 any more."],
    [
      "en",
      "No requests to https://a.example.com/x please.",
      "No requests to https://b.example.com/x please.",
    ],
    ["en", "Migration 0012 must stay untouched.", "Migration 0013 must stay untouched."],
    ["en", "Always mention ticket 1001 in the notes.", "Always mention ticket 1002 in the notes."],
    ["en", "You must back up table 17 before each run.", "You must back up table 18 before each run."],
    ["en", "Never touch ticket 1001.", "Finally, never touch ticket 1002."],
    ["en", "We must not use port 8080.", "We must use port 9090."],
    ["en", "The server must listen on port 8080.", "The server must never listen on port 9090."],
    ["de", "X-1001 darf niemals angefasst werden.", "X-1002 darf niemals angefasst werden."],
    ["de", "Nie auf Port 8080 lauschen.", "Nie auf Port 9090 lauschen."],
    [
      "de",
      "Die Tabelle kunden_alt darf nicht geändert werden.",
      "Die Tabelle kunden_neu darf nicht geändert werden.",
    ],
    ["de", "Ticket 1001 muss immer erwähnt werden.", "Ticket 1002 muss immer erwähnt werden."],
    ["zh", "不要动 X-1001。", "不要动 X-1002。"],
    ["zh", "禁止使用端口 8080。", "禁止使用端口 9090。"],
    ["zh", "绝对不要修改 schema.sql。", "绝对不要修改 seed.sql。"],
    ["zh", "不要更改表 orders_2023。", "不要更改表 orders_2024。"],
    ["zh", "必须提到工单 1001。", "必须提到工单 1002。"],
    ["zh", "工单 1001 必须保留。", "工单 1002 必须保留。"],
    ["ja", "X-1001 には絶対に触らないで。", "X-1002 には絶対に触らないで。"],
    ["ja", "ポート 8080 は使用禁止です。", "ポート 9090 は使用禁止です。"],
    ["ja", "テーブル orders_2023 は変更しないでください。", "テーブル orders_2024 は変更しないでください。"],
    ["ja", "チケット 1001 は必ず記載してください。", "チケット 1002 は必ず記載してください。"],
  ] as const)("%s: %s + %s", (language, first, later) => {
    const lines = linesAfter(language, first, later);
    for (const said of [first, later])
      expect(lines.filter((line) => line.includes(bare(said)))).toEqual([`- ${said}`]);
  });

  it("keeps the earlier ones after a word lifts one", () => {
    const lines = Object.values(
      digested([
        user(GOALS.en),
        user("Never touch X-1001."),
        user("Never touch X-1002."),
        user("You may touch X-1002 now."),
      ]),
    ).join("\n");
    expect(lines).toContain("Never touch X-1001.");
    expect(lines).not.toContain("Never touch X-1002.");
  });
});

it.each([
  ["Never edit the schema in db/schema.sql.", "You can read the schema in db/schema.sql."],
  ["Never touch X-1001.", "Only Kim is allowed to touch X-1001."],
  ["Never touch X-1001.", "You may touch X-1002 now."],
])("another permission lifts nothing: %s + %s", (first, later) => {
  expect(linesAfter("en", first, later)).toContain(`- ${first}`);
});

describe("what holds one value, or is changed by a word, does not add up", () => {
  it.each([
    ["en", "use port 8080", "use port 9090"],
    ["en", "The server must listen on port 8080.", "The server must listen on port 9090."],
    ["en", "keep at most 64 writes in flight", "at most 32 writes in flight"],
    ["en", "Never keep more than 64 writes in flight.", "Never keep more than 32 writes in flight."],
    ["en", "Never keep more than 64 writes in flight.", "Keep 32 writes in flight."],
    ["en", "Never open over 64 connections.", "Never open over 32 connections."],
    ["en", "Never use a port other than 8080.", "Never use a port other than 9090."],
    ["en", "The port is 8080, don't change it.", "The port is 9090, don't change it."],
    ["en", "The timeout must be 30 s.", "The timeout must be 45 s."],
    ["en", "Always retry 3 times.", "Always retry 5 times."],
    ["en", "You must run on Node 18.", "You must run on Node 20."],
    ["en", "Stay on version 3.1 of the parser.", "Stay on version 3.2 of the parser."],
    ["en", "Call the service OrderHub.", "Call the service OrderBridge."],
    ["en", "Never touch ticket 1001.", "Never touch ticket 1002 instead."],
    ["en", "Never touch ticket 1001.", "Never touch ticket 1002 rather than 1001."],
    ["en", "Never touch X-1001.", "You may touch X-1001 now."],
    ["de", "Nimm Port 8080 für den Server.", "Nimm Port 9090 für den Server."],
    ["de", "Niemals mehr als 64 Verbindungen öffnen.", "Niemals mehr als 32 Verbindungen öffnen."],
    ["de", "Rühr Ticket 1001 niemals an.", "Rühr stattdessen Ticket 1002 niemals an."],
    ["de", "X-1001 darf niemals angefasst werden.", "X-1001 darf jetzt angefasst werden."],
    ["zh", "服务器使用端口 8080。", "服务器使用端口 9090。"],
    ["zh", "同时写入不能超过 64 条。", "同时写入不能超过 32 条。"],
    ["zh", "禁止使用端口 8080。", "现在改为禁止使用端口 9090。"],
    ["zh", "不要修改 X-1001。", "现在可以修改 X-1001 了。"],
    ["ja", "接続上限は 64 です。", "接続上限は 32 です。"],
    ["ja", "同時書き込みは 64 件以内にしてください。", "同時書き込みは 32 件以内にしてください。"],
    ["ja", "チケット 1001 には触らないで。", "チケット 1001 ではなく 1002 には触らないで。"],
    ["ja", "X-1001 は変更しないで。", "X-1001 は変更してもいいです。"],
  ] as const)("%s: %s → %s", (language, first, later) => {
    const lines = linesAfter(language, first, later);
    expect(lines.filter((line) => line.includes(bare(first)))).toEqual([]);
    expect(lines.join("\n")).toContain(bare(later));
  });
});
