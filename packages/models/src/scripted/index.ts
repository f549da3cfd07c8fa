export { type Scenario, type ScenarioAnswer, type ScriptedModel, scenarioModel } from "./scenario.ts";
export { scriptedProvider } from "./scripted.ts";
