import { test } from "vitest";
import { expectAccessible } from "./expect-accessible.ts";
import { useBrowser } from "./shown-page.ts";

const show = useBrowser();

/** The views share their colours and boxes: one in each scheme and width. `pnpm test:slow` checks the others. */
test.for([
  ["light", 1280, ["entry"]],
  ["dark", 320, ["context"]],
] as const)("no view breaks a rule of axe-core, %s, %i pixels wide", ([colorScheme, width, names]) =>
  expectAccessible(show, { colorScheme, width, names }),
);
