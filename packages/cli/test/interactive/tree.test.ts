import { describe, expect, test } from "vitest";
import { header, sampleLines } from "../call/sample-session.ts";
import { answer, oldLeaf, openSample, user } from "./tree-panel-setup.ts";

/** From the title to the rule. */
function panelOf(screen: string): string {
  const lines = screen.split("\n");
  const first = lines.findIndex((line) => line.includes("Session tree"));
  const end = lines.findIndex((line, at) => at > first && /^─+$/.test(line));
  return lines.slice(first, end).join("\n");
}

describe("the panel", () => {
  test("shows the whole tree, the active branch first, and where one is", async () => {
    const { terminal } = await openSample();
    terminal.type("/tree\n");
    expect(panelOf(await terminal.until("Esc leave"))).toMatchInlineSnapshot(`
      " Session tree  default · 11/13
       › type to search
        ▾● user       Make the totals right. ␛[31mred␛[0m␇ and 日本語のテ…   16 hours
         ● assistant  I will read the code. → read src/total.ts               16 hours
         ● result     read src/total.ts: export const total = 1;              16 hours
         ● assistant  The total is a constant.                                16 hours
        ├─▾● branch     A cache was tried: no use.                            16 hours
        │  ● user       Then compute it. Never use floats for money.          16 hours
        │  ● assistant  edit src/total.ts                                     16 hours
        │  ● result     failed edit src/total.ts: no match                    16 hours
        │  ● compaction of 12,345 tokens Goal: Make the totals right. Next…   16 hours
        │  ● user       go on                                                 16 hours
      › │  ◉ assistant  Done: the total is computed.                 ◀ here   16 hours
        ╰─▾○ user       [dead end] Try a cache                                16 hours
           ○ assistant  A cache makes it worse.                               16 hours
       Enter go there · ←→ fold · Tab filter · Ctrl-L label · Ctrl-A menu
       Ctrl-D diff · Ctrl-X hide · Esc leave"
    `);
  });

  test("folds, filters and fits 40 columns of a short terminal", async () => {
    const { terminal } = await openSample(sampleLines(), { columns: 40, rows: 16 });
    // What was notified while the session was being opened leaves space for the chat: it stands there once.
    expect(terminal.scrollback().match(/started in/g)).toHaveLength(1);
    terminal.type("/tree\n");
    await terminal.until("Esc leave");
    terminal.press("left", "left");
    expect(panelOf(await terminal.until("▸"))).toMatchInlineSnapshot(`
      " Session tree  default · 5/7
       › type to search
        ▾● user Make the totals right. ␛[31mr…
         ● assistant I will read the code. → …
         ● result read src/total.ts: export c…
         ● assistant The total is a constant.
      › ├─▸● branch A cache was tried: no … +6
        ╰─▾○ user [dead end] Try a cache
           ○ assistant A cache makes it worse.
       Enter go there · ←→ fold · Tab filter
       Ctrl-L label · Ctrl-A menu
       Ctrl-D diff · Ctrl-X hide · Esc leave"
    `);
    terminal.press("tab", "ctrl+f");
    expect(panelOf(await terminal.until("user only"))).toMatchInlineSnapshot(`
      " Session tree  user only · 1/4
       › type to search
      › ▾● user Make the totals right. ␛[31mr…
        ├─▾● user Then compute it. Never use …
        │  ◉ user go on                 ◀ here
        ╰─ ○ user [dead end] Try a cache



       Enter go there · ←→ fold · Tab filter
       Ctrl-L label · Ctrl-A menu
       Ctrl-D diff · Ctrl-X hide · Esc leave"
    `);
  });

  test("acceptance 36: Esc clears the search first, then leaves", async () => {
    const { terminal } = await openSample();
    terminal.type("/tree\n");
    await terminal.until("11/13");
    terminal.type("cache user");
    await terminal.until(/1\/1$/m);
    terminal.press("esc");
    await terminal.until("11/13");
    terminal.press("esc");
    await terminal.until((screen) => !screen.includes("Session tree"));
  });

  test("the menu compacts everything before an entry, and offers the nearest legal entry", async () => {
    const { terminal, session, act } = await openSample();
    terminal.type("/tree\n");
    await terminal.until("Esc leave");
    terminal.press("up", "up");
    await act(3);
    await terminal.until("It is not a message in the model's context.");
    terminal.press("esc");
    await terminal.until("Session tree");
    terminal.press("up");
    await act(3);
    await terminal.until("It is a tool result");
    terminal.press("y", "enter");
    await terminal.until("Compacted: ");
    const [, first, second] = session().projection().items;
    expect([first, second].map((item) => item?.message.role)).toEqual(["assistant", "toolResult"]);
  });

  test("the menu labels an entry, and goes back with a summary with a focus", async () => {
    const { terminal, session, act } = await openSample();
    terminal.type("/tree\n");
    await terminal.until("Esc leave");
    await act(3);
    await terminal.until("Label for this entry");
    terminal.type("the end\n");
    await terminal.until("[the end]");
    terminal.press("up", "up", "up", "up");
    await act(2);
    await terminal.until("What should the summary focus on?");
    terminal.type("the money\n");
    await terminal.until((screen) => !screen.includes("Session tree"));
    await terminal.until(/edit src[\s\S]*\[branch summary\]/);
    expect(session().entry(session().leafId!)).toMatchObject({ type: "branch_summary" });
  });

  test("a label is given in the tree, and found there", async () => {
    const { terminal, session } = await openSample();
    terminal.type("/tree\n");
    await terminal.until("Esc leave");
    terminal.press("ctrl+l");
    await terminal.until("Label for this entry");
    terminal.type("the end\n");
    await terminal.until("[the end]");
    expect(session().label(oldLeaf)).toBe("the end");
    terminal.type("assistant the end");
    await terminal.until(/default · 1\/1$/m);
  });
});

test("a text deep inside of a message is found, also after it gets a label", async () => {
  const deep = `the only answer: ${"so much more ".repeat(40)} the needle`;
  const { terminal } = await openSample([header, user("u1", null, "only"), answer("a1", "u1", deep)]);
  terminal.type("/tree\n");
  await terminal.until("Esc leave");
  terminal.type("needle");
  await terminal.until(/default · 1\/1\n.*\n.*…[a-z ]*the needle/);
  terminal.press("ctrl+l");
  await terminal.until("Label for this entry");
  terminal.type("found\n");
  await terminal.until(/\[found\] …[a-z ]*the needle/);
});
