import { describe, expect, test } from "vitest";
import { answer, call, digested, run, user } from "./digest-messages.ts";

const start = [user("Build the shop backend."), answer("The skeleton stands.")];
const bodyOf = (sections: Record<string, string>): string => {
  const { "In Progress": _now, Done: _done, ...settled } = sections;
  return JSON.stringify(settled);
};

describe("a user's word that it works", () => {
  test.each([
    "it works now, cheers",
    "klappt, danke dir",
    "ça marche maintenant, merci",
    "ya funciona, gracias",
    "funciona agora, valeu",
    "adesso funziona",
    "теперь работает, спасибо",
    "好了,谢谢",
    "動きました、ありがとう",
    "이제 됩니다",
  ])("%s: closes what failed last", (word) => {
    const messages = [
      ...start,
      ...run("./migrate.sh users", "error: relation users_idx exists", true),
      answer("I dropped the index first."),
      user(word),
      answer("Good."),
    ];
    expect(digested(messages).Blocked).toBe("");
  });

  test.each(["it works now but only on my machine", "still not working", "works on staging, not in prod"])(
    "%s: closes nothing",
    (word) => {
      const messages = [...start, ...run("./migrate.sh users", "error: no such table", true), user(word)];
      expect(digested(messages).Blocked).toContain("./migrate.sh users");
    },
  );

  test("it closes one failure, the last", () => {
    const messages = [
      ...start,
      ...run("./a.sh", "error: no disk", true),
      ...run("./b.sh", "error: no net", true),
      user("that did the trick"),
    ];
    expect(digested(messages).Blocked).toContain("./a.sh");
    expect(digested(messages).Blocked).not.toContain("./b.sh");
  });
});

test("a passing lint closes no failing type check; a passing build does", () => {
  const failing = [
    ...start,
    ...run("npx tsc --noEmit", "src/a.ts(1,1): error TS2304: Cannot find name", true),
  ];
  expect(digested([...failing, ...run("pnpm lint", "done")]).Blocked).toContain("TS2304");
  expect(digested([...failing, ...run("pnpm build", "done")]).Blocked).toBe("");
});

test("trouble that was put aside stays open when other work is finished", () => {
  const messages = [
    ...start,
    user("the indexer was OOMKilled twice last night, cause unknown, leave it for now"),
    answer("Noted."),
    user("tidy up the footer"),
    answer("I fixed the footer."),
  ];
  expect(digested(messages).Blocked).toContain("OOMKilled");
});

describe("no rules", () => {
  test.each([
    "the export in src/csv.ts never finishes, see what's going on",
    "hm, src/a.ts is acting up, pls check the loop",
    "Jim once said we should never test on Fridays, haha",
    "if we were an airline we'd have to log every click",
    "deve ter sido a rede",
    "nunca entendí ese script",
    "src/b.ts ist langsam, schau mal bitte",
    "src/c.ts が重いので見てください",
  ])("%s", (line) => {
    expect(digested([...start, user(line), answer("Done.")])["Constraints & Preferences"]).toBe("");
  });
});

describe("rules and tastes", () => {
  test.each([
    "make sure nobody logs card numbers",
    "please stop renaming my variables",
    "fine, but without locking the table",
    "only signed builds until the audit",
    "can we use double quotes like in the rest",
    "no need to bother with docstrings",
    "Passwörter haben in der Konsole nichts zu suchen",
    "пароля в логах быть не может",
    "비밀번호는 로그에 남기면 안 돼요",
    "respuestas cortas, que voy en el tren",
  ])("%s", (line) => {
    expect(digested([...start, user(line), answer("Done.")])["Constraints & Preferences"]).toContain(line);
  });
});

describe("what was changed later", () => {
  test.each([
    ["carts expire after 30 minutes, decided", "correction: carts live 2 hours", "30 minutes"],
    ["los carritos caducan a los 30 minutos, decidido", "cambio: los carritos duran 2 horas", "30 minutos"],
    ["i carrelli scadono dopo 30 minuti, deciso", "cambio di idea: i carrelli durano 2 ore", "30 minuti"],
    [
      "les paniers expirent après 30 minutes, c'est décidé",
      "changement : les paniers durent 2 heures",
      "30 minutes",
    ],
    ["we go with six retries for the mailer", "make that two retries for the mailer", "six"],
    ["plots: Chart.js it is", "changed my mind, plots with uPlot", "Chart.js"],
    [
      "let's go with Kafka for the event bus",
      "Kafka eats too much memory. the event bus goes on NATS then",
      "Kafka for",
    ],
    ["we run the search on Solr", "forget solr, the search runs on Typesense", "on Solr"],
  ])("%s → %s", (before, after, gone) => {
    const edit = call("edit", { path: "src/a.ts", oldText: "a", newText: "b" }, "ok");
    const messages = [...start, user(before), ...edit, answer("Noted."), user(after), answer("Noted.")];
    expect(bodyOf(digested([...messages, user("go on with the tests"), answer("Done.")]))).not.toContain(
      gone,
    );
  });
});

describe("assent", () => {
  const proposal = answer(
    "Two ways: (1) cache in the client, (2) cache at the edge. I'd take (2), it spares the database.",
  );
  test.each(["agreed, do that", "ok go with your suggestion", "option 2", "(2) please"])("%s", (word) => {
    const decisions = digested([...start, user("how do we cache?"), proposal, user(word), answer("On it.")]);
    expect(decisions["Key Decisions"]).toContain("cache at the edge");
    expect(decisions["Key Decisions"]).not.toContain(`- ${word}`);
  });
});

test("what people say again and again with other names is told no more", () => {
  const complaints = ["cart", "price", "seat", "stock", "order"].flatMap((name) => [
    user(`it looks like the ${name} comes in before the page is ready`),
    answer("I see."),
  ]);
  expect(JSON.stringify(digested([...start, ...complaints]))).not.toContain(
    "comes in before the page is ready\\n",
  );
  const rules = ["a", "b", "c", "d", "e"].map((name) => user(`never touch the tables of ${name}-db by hand`));
  expect(digested([...start, ...rules])["Constraints & Preferences"]?.split("\n")).toHaveLength(5);
});

test("what the user said is quoted as it was said", () => {
  const said = "Read src/theme.md and make the header 40 px high, the footer 12 px.";
  const messages = [
    user(said),
    answer("Done."),
    user("the header should be 48 px high instead, not 40 px"),
    answer("Done."),
  ];
  const goal = digested(messages).Goal ?? "";
  const quoted = goal.replace(/^- /, "").replace(/ \[changed since: .*\]$/, "");
  expect(said).toContain(quoted.replace(/…$/, ""));
});
