// biome-ignore-all lint/suspicious/noTemplateCurlyInString: templates have such places for arguments
import { expect, test } from "vitest";
import { templateArguments, withArguments } from "../../src/resources/prompt-templates.ts";

const words = (typed: string) => templateArguments(typed).words.map(({ text }) => text);
const filled = (body: string, typed: string) => withArguments(body, templateArguments(typed)).text;

const lists = [
  ["", []],
  ["   ", []],
  ["a b", ["a", "b"]],
  [' a\n\t"b c"  d', ["a", "b c", "d"]],
  ['"the \\"fast\\" path" x', ['the "fast" path', "x"]],
  ["'it''s' \"\"", ["it's'", ""]],
  ["doesn't won't", ["doesn't", "won't"]],
  ['say "never closed here', ["say", '"never', "closed", "here"]],
  ['"never \\" closed', ['"never', '\\"', "closed"]],
  ["'a \"b\" c' C:\\dir", ['a "b" c', "C:\\dir"]],
] as const;
test("splits typed arguments like a shell", () => {
  expect(lists.map(([typed]) => [typed, words(typed)])).toEqual(lists);
});

const templates = [
  ["$1 then $2", "a b", "a then b"],
  ["[$1 $2 $3]", "a b", "[a b ]"],
  ["$@|$ARGUMENTS|${@}|${ARGUMENTS}|${1}", 'a "b c"', "a b c|a b c|a b c|a b c|a"],
  ["${1:-all} ${2:-tests}", "unit", "unit tests"],
  ["${1:-all}", '""', "all"],
  ["${@:-nothing} ${ARGUMENTS:-no}", "", "nothing no"],
  ["${@:2}/${@:0}/${@:9}", "a b  c", "b  c/a b  c/"],
  ["${@:2:2}", "a b c d", "b c"],
  ["$ARGUMENTS[0]-$ARGUMENTS[1]", "a b", "a-b"],
  ["$0 and $1", "a b", "a and b"],
  ["$10", "1 2 3 4 5 6 7 8 9 ten", "ten"],
  ["costs \\$1, not $1", "two", "costs $1, not two"],
  ["$HOME ${HOME} $ $$ ${} $ARGUMENTSX", "x", "$HOME ${HOME} $ $$ ${} $ARGUMENTSX"],
] as const;
test("fills arguments into a template", () => {
  expect(templates.map(([body, typed]) => [body, typed, filled(body, typed)])).toEqual(templates);
});

test("placeholders in arguments and defaults stay text", () => {
  expect(filled("$1 $2 ${3:-$1}", "'$2 $@' '$& $ARGUMENTS'")).toBe("$2 $@ $& $ARGUMENTS $1");
});

test("blanks between arguments stay as they were typed", () => {
  expect(filled("$ARGUMENTS", "first\n\n  second 'third  one'")).toBe("first\n\n  second third  one");
});

test("a text without a place says so", () => {
  expect(withArguments("plain \\$1", templateArguments("x"))).toEqual({ text: "plain $1", isUsed: false });
});

const amounts = [
  ["It costs $5.", "It costs $5."],
  ["$1 has a budget of $20 and $1.50 a day", "a has a budget of $20 and $1.50 a day"],
  ["$1 and $2, for $10,000", "a and b, for $10,000"],
  ["$1, $2 and $3", "a, b and "],
  ["$2 before $1", "b before a"],
] as const;
test("keeps amounts of money that are no argument", () => {
  expect(amounts.map(([body]) => [body, withArguments(body, templateArguments("a b")).text])).toEqual(
    amounts,
  );
});
