export { piAdapter } from "./pi-adapter.ts";
export { piModules } from "./pi-modules.ts";
