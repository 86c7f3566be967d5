/** The contract of policies for the preset `agent`, with marks so low that every part of it acts on small sessions. */
import { agentPlanner } from '../../src/planner/agent.ts'
import { policyContract } from '../contracts/policy.ts'

policyContract(() => agentPlanner({ budget: 0.002, keep: 3, warnFrom: 0.5, limit: 20, preview: 5 }))
