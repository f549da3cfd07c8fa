export type { Scenario, ScenarioAnswer, ScenarioCall, ScriptedModel } from "./scenario.ts";
export { scenarioModel } from "./scenario-file.ts";
export { scriptedProvider } from "./scripted.ts";
