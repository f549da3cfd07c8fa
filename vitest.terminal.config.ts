import { defineConfig, mergeConfig } from "vitest/config";
import base from "./vitest.config.ts";

// `pnpm test:terminal`: the interactive mode in a window of tmux, which has to be installed. The other tests drive it on
// a terminal without a window, and as a process on a pseudo terminal.
export default mergeConfig(
  { ...base, test: { ...base.test, projects: undefined } },
  defineConfig({ test: { include: ["packages/*/test/**/*.tmux.ts"] } }),
);
