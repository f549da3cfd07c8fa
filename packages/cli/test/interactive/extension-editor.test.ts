import { everyRow } from "@bonsai-agent/testkit";
import { expect, test } from "vitest";
import { withExtension } from "./extension-setup.ts";

/** An editor of a few lines: `/own` puts it there, `/ours` takes it away. It takes the first Esc for itself. */
const editor = (more = "") => `
  const make = (tui, theme, keys) => ({
    text: "", mode: "insert", seen: [],
    render() { return ["<" + this.mode + "> " + this.text + (this.focused ? "|" : "")]; },
    focused: false,
    getText() { return this.text; },
    setText(text) { this.text = text; },
    handleInput(data) {
      if (keys.matches(data, "interrupt")) {
        if (this.mode === "normal") this.onEscape();
        this.mode = "normal";
      } else if (keys.matches(data, "submit")) this.onSubmit(this.text);
      else this.text += data;
    },
    ${more}
  });
  bonsai.registerCommand("own", { handler(_args, { ui }) { ui.setEditorComponent(make); } });
  bonsai.registerCommand("ours", { handler(_args, { ui }) { ui.setEditorComponent(undefined); } });`;

const slow = {
  contextWindow: 100_000,
  turn: [{ text: "slow words ".repeat(50), delayMs: 40, chunkChars: 1 }],
};

test("an editor of an extension has the text, the keys and the history, and what it sends is sent", async () => {
  const { terminal, command } = await withExtension(
    editor(`addToHistory(text) { this.seen.push(text); this.mode = this.seen.join(); },`),
  );
  command("first");
  await terminal.until("Good.");
  command("/own");
  await terminal.until("> |");
  terminal.type("hello");
  const screen = await terminal.until(/<.*first.*> hello\|/);
  expect(screen).toContain("/100k");
  terminal.press("enter");
  await terminal.until((seen) => seen.includes(" hello\n") && />\s\|/.test(seen));
  terminal.paste("pasted \u001b[31mred");
  await terminal.until(/> .*pasted red/);
});

test("the text stays where the editor comes and goes", async () => {
  const { terminal } = await withExtension(`${editor()}
    bonsai.registerShortcut("ctrl+y", { handler: ({ ui }) => ui.setEditorComponent(make) });
    bonsai.registerShortcut("ctrl+t", { handler: ({ ui }) => ui.setEditorComponent(undefined) });`);
  terminal.type("half a");
  await terminal.until("half a");
  terminal.press("ctrl+y");
  await terminal.until("<insert> half a|");
  terminal.type(" thought");
  await terminal.until("<insert> half a thought|");
  terminal.press("ctrl+t");
  expect(await terminal.until(/^ ?half a thought/m)).not.toContain("<insert>");
});

test("the editor gets Esc first and may keep it; a second Esc and Ctrl-C are Bonsai's", async () => {
  const { terminal, command } = await withExtension(
    editor(`handed: 0, handleInput(data) {
      if (keys.matches(data, "submit")) this.onSubmit(this.text);
      else if (!keys.matches(data, "interrupt")) this.text += data;
      else this.mode = "deaf " + ++this.handed;
    },`),
    { scenario: slow },
  );
  command("/own");
  await terminal.until("<insert>");
  terminal.type("go");
  terminal.press("enter");
  await terminal.until("slow words");
  terminal.press("esc");
  await terminal.until("<deaf 1>");
  terminal.press("esc");
  expect(await terminal.until("The answer stopped early.")).toContain("<deaf 1>");
  terminal.type("typed");
  await terminal.until("> typed|");
  terminal.press("ctrl+c");
  await terminal.until("Ctrl-C again to quit");
  expect(await terminal.until(/^<deaf 1> \|/m)).not.toContain("typed");
});

test("Esc stops the run if the editor passes it on at once", async () => {
  const { terminal, command } = await withExtension(
    editor(`handleInput(data) {
      if (keys.matches(data, "submit")) this.onSubmit(this.text);
      else if (keys.matches(data, "interrupt")) this.onEscape();
      else this.text += data;
    },`),
    { scenario: slow },
  );
  command("/own");
  await terminal.until("<insert>");
  terminal.type("go");
  terminal.press("enter");
  await terminal.until("slow words");
  terminal.press("esc");
  await terminal.until("The answer stopped early.");
});

test("an editor that throws is named, and Bonsai's editor comes back with the text", () =>
  everyRow([
    [
      "render",
      `render() { if (this.text === "abc") throw new Error("no paint"); return ["own: " + this.text]; },`,
      "no paint",
    ],
    [
      "handleInput",
      `handleInput(data) { if (data === "c") throw new Error("no hands"); this.text += data; },`,
      "no hands",
    ],
    [
      "getText",
      `getText() { if (this.text === "abc") throw new Error("no tongue"); return this.text; },`,
      "no tongue",
    ],
  ])(async ([what, more, reason]) => {
    const { terminal, command } = await withExtension(editor(more));
    command("/own");
    await terminal.until(what === "render" ? "own:" : "<insert>");
    terminal.type("ab");
    await terminal.until(/ ab/);
    terminal.type("c");
    const screen = await terminal.until(reason);
    expect(screen.replaceAll(/\s+/g, " ")).toContain(`The editor of drawn.mjs failed: ${reason}`);
    terminal.type("d");
    // The key that made the editor throw may or may not have inserted its character.
    await terminal.until(what === "render" ? /^ ?abcd/m : /^ ?abc?d/m);
  }));

test("an invalid editor is an error of the command, and Bonsai's editor stays", () =>
  everyRow([
    ["a factory that throws", `() => { throw new Error("no factory"); }`, "no factory"],
    ["something else", "42", "ctx.ui.setEditorComponent with 42"],
    ["a factory of no editor", "() => ({})", "an editor"],
  ])(async ([_what, factory, reason]) => {
    const { terminal, command } = await withExtension(
      `bonsai.registerCommand("own", { handler(_args, { ui }) { ui.setEditorComponent(${factory}); } });`,
    );
    command("/own");
    await terminal.until((screen) => screen.replaceAll(/\s+/g, " ").includes(reason));
    terminal.type("still here");
    await terminal.until("still here");
  }));

test("the editor goes with its extension", async () => {
  const { terminal, command } = await withExtension(editor());
  command("/own");
  await terminal.until("<insert>");
  terminal.type("/reload");
  terminal.press("enter");
  await terminal.until((screen) => !screen.includes("<insert>"));
  terminal.type("ours");
  await terminal.until(/^ ?ours/m);
});

test("a provider completes beside the program's; one that throws is named and left out", async () => {
  const { terminal, command } = await withExtension(`
    bonsai.on("session_start", (_event, { ui }) => {
      ui.addAutocompleteProvider((current) => ({
        triggerCharacters: ["%"],
        async getSuggestions(lines, line, column, options) {
          const [, token] = /%(\\w*)$/.exec(lines[line].slice(0, column)) ?? [];
          if (token === undefined) return current.getSuggestions(lines, line, column, options);
          if (token === "bad") throw new Error("no words");
          return { items: [{ value: "%oak", label: "%oak\\u001b[2J", description: "a tree" }], prefix: "%" + token };
        },
        applyCompletion: (...call) => current.applyCompletion(...call),
      }));
    });`);
  terminal.type("cut %o");
  expect(await terminal.until("a tree")).toContain("%oak");
  terminal.press("tab");
  await terminal.until(/cut %oak/);
  terminal.press("ctrl+c");
  terminal.type("/hel");
  await terminal.until("help");
  terminal.press("ctrl+c");
  terminal.type("%bad");
  await terminal.until((screen) =>
    screen.replaceAll(/\s+/g, " ").includes("The autocomplete provider of drawn.mjs failed: no words"),
  );
  terminal.press("ctrl+c");
  command("still sent");
  await terminal.until("Good.");
});

test("a provider of invalid completions is named and left out", () =>
  everyRow([
    ["no items", "{ items: 7, prefix: token }", "lines", "getSuggestions returned neither"],
    [
      "an item without a value",
      "{ items: [{ label: token }], prefix: token }",
      "lines",
      "getSuggestions returned neither",
    ],
    ["no prefix", "{ items: [{ value: token }] }", "lines", "getSuggestions returned neither"],
    ["no lines", "{ items: [{ value: token }], prefix: token }", "7", "applyCompletion did not return"],
    [
      "a cursor beyond them",
      "{ items: [{ value: token }], prefix: token }",
      "[]",
      "applyCompletion did not return",
    ],
  ])(async ([_, found, lines, words]) => {
    const { terminal, command } = await withExtension(`
    bonsai.on("session_start", (_event, { ui }) => {
      ui.addAutocompleteProvider((current) => ({
        triggerCharacters: ["%"],
        async getSuggestions(lines, line, column) {
          const [token] = /%\\w*$/.exec(lines[line].slice(0, column)) ?? [];
          return token === undefined ? null : ${found};
        },
        applyCompletion: (lines, cursorLine, cursorCol) => ({ lines: ${lines}, cursorLine, cursorCol }),
      }));
    });`);
    terminal.type("%oak");
    if (words.startsWith("apply")) {
      await terminal.until(/%oak[\s\S]*%oak/);
      terminal.press("tab");
    }
    await terminal.until((screen) => screen.replaceAll(/\s+/g, " ").includes(`failed: ${words}`));
    terminal.press("ctrl+c");
    command("still sent");
    await terminal.until("Good.");
  }));

test("a key handler that returns no key changes nothing", async () => {
  const { terminal, command } = await withExtension(`
    bonsai.on("session_start", (_event, { ui }) => { ui.onTerminalInput(() => ({ data: 7, consume: "yes" })); });`);
  command("sent as typed");
  await terminal.until("Good.");
});
