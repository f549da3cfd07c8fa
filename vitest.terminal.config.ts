import { defineConfig, mergeConfig } from "vitest/config";
import base from "./vitest.config.ts";

// `pnpm test:terminal`: the interactive mode in a window of tmux, which has to be installed, and as a process on a pseudo
// terminal. They wait for real screens, which a busy machine draws late; the tests of `npm test` drive the mode on
// a terminal without a window.
export default mergeConfig(
  { ...base, test: { ...base.test, projects: undefined } },
  defineConfig({ test: { include: ["packages/*/test/**/*.tmux.ts", "packages/*/test/**/*.pty.ts"] } }),
);
