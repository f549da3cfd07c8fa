import type { DrawnComponent } from "@bonsai-agent/extension/host";
import { everyRow } from "@bonsai-agent/testkit";
import { expect, test } from "vitest";
import { extensionTheme } from "../../src/interactive/extension-views/extension-theme.ts";
import { drawnLines } from "../../src/interactive/extension-views/extension-tui.ts";
import { viewSlot } from "../../src/interactive/extension-views/widgets.ts";
import { builtInThemes } from "../../src/interactive/terminal/built-in-themes.ts";
import { makeTheme } from "../../src/interactive/terminal/theme.ts";

/** A component that counts its drawings. */
function counting() {
  let count = 0;
  const drawn = {
    render() {
      count += 1;
      return [`drawn ${count}`, "more", "too much"];
    },
    ...{ handleInput() {}, invalidate() {}, dispose() {} },
    ...{ focused: false, wantsKeyRelease: false, component: { render: () => [] } },
  } satisfies DrawnComponent;
  return { slot: viewSlot({ drawn }, 2) };
}

test("a component is drawn in every frame, cut to the space", () => {
  const { slot } = counting();
  expect([slot.render(80), slot.render(80)]).toEqual([
    ["drawn 1", "more"],
    ["drawn 2", "more"],
  ]);
});

test("a component's line keeps colours, links and the cursor, and fits the width", () =>
  everyRow([
    ["a colour", "\u001b[31mred\u001b[39m", ["\u001b[31mred\u001b[39m\u001b[0m"]],
    ["a colour that is not closed", "\u001b[7mopen", ["\u001b[7mopen\u001b[0m"]],
    [
      "a link",
      "\u001b]8;;https://a.b\u001b\\it\u001b]8;;\u001b\\",
      ["\u001b]8;;https://a.b\u001b\\it\u001b]8;;\u001b\\"],
    ],
    ["a cursor", "\u001b_pi:c\u0007", ["\u001b_pi:c\u0007"]],
    ["a tab and a newline", "a\tb\nc", ["a  b", "c"]],
    ["a sequence that moves the cursor", "\u001b[2A\u001b[Kx", ["␛[2A␛[Kx"]],
    ["a sequence that sets the clipboard", "\u001b]52;c;eA==\u0007", ["␛]52;c;eA==␇"]],
    ["an image", "\u001b_Ga=T;AAAA\u001b\\", ["[image]"]],
    ["too wide a line", "宽".repeat(30), [`${"宽".repeat(10)}\u001b[0m`]],
  ])(([_name, line, expected]) => {
    expect(drawnLines([line], 20)).toEqual(expected);
  }));

test("the theme of extensions follows the scheme, and knows no other colours", () => {
  const looks = makeTheme("dark");
  const theme = extensionTheme(looks);
  expect(theme.fg("accent", "a")).toBe("\u001b[38;5;110ma\u001b[39m");
  expect(theme.fg("no colour" as never, "a")).toBe("a");
  expect(theme.bg("constructor" as never, "a")).toBe("a");
  expect([theme.name, theme.getFgAnsi("accent"), theme.getColorMode()]).toEqual([
    "dark",
    "\u001b[38;5;110m",
    "256color",
  ]);
  looks.use(builtInThemes.light);
  expect([theme.name, theme.fg("accent", "a")]).toEqual(["light", "\u001b[38;5;25ma\u001b[39m"]);
  const plain = extensionTheme(makeTheme("none"));
  expect([plain.fg("success", "a"), plain.bg("toolErrorBg", "a"), plain.getFgAnsi("dim")]).toEqual([
    "a",
    "a",
    "",
  ]);
  expect(theme.bg("selectedBg", "a")).toBe("\u001b[7ma\u001b[27m");
});
