import { test } from "vitest";
import { expectAccessible } from "./expect-accessible.ts";
import { useBrowser } from "./shown-page.ts";

const show = useBrowser();

/** The views share their colours and boxes. `pnpm test:slow` checks the other views, schemes and widths. */
test("no rule of axe-core is broken, dark, 320 pixels wide", () =>
  expectAccessible(show, { colorScheme: "dark", width: 320, names: ["entry"] }));
