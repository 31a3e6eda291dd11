/** Why nothing can be done on a remote cluster. */
import * as Disposition from "../../Disposition.ts"

/**
 * The reasons of a cluster that cannot be used.
 *
 * **Details**
 * | reason | what was seen | what happens next | what a person does |
 * |---|---|---|---|
 * | `secret_missing`, `key_missing` | no kubeconfig where it should be | parked until the Secret changes | create or complete it |
 * | `kubeconfig_invalid` | it cannot be read, or lacks a part | parked until the Secret changes | correct the named part |
 * | `context_missing` | the context, or what it names, is not there | parked until the Secret changes | correct it, or name another context |
 * | `kubeconfig_refused` | it uses what this operator does not allow | parked until the Secret changes | put the data into the kubeconfig itself, or have the operator allow it |
 * | `credentials_rejected` | the cluster answers 401 | parked until the Secret changes | renew the credentials |
 * | `identity_forbidden` | the credentials may not read the namespace kube-system | parked until the Secret changes | allow that, then ask for a retry |
 * | `other_cluster` | the kubeconfig leads to another cluster than before | parked until the Secret changes | point it back, or give up what is on the one before |
 * | `unreachable` | no answer, or none of a Kubernetes API | retried with backoff | see to the cluster if it lasts |
 * | `certificate_untrusted` | another certificate than the kubeconfig trusts | retried with backoff, and when the Secret changes | bring the kubeconfig up to date |
 * | `cluster_unreachable` | what is to be deleted is on a cluster that cannot be used | comes back every minute | see to the named problem, or give up what is there |
 *
 * @category vocabularies
 * @since 0.1.0
 */
export const Reasons = Disposition.vocabulary("remote_cluster", {
  secret_missing: Disposition.userActionRequired("There is no Secret {secret}, which should hold a kubeconfig."),
  key_missing: Disposition.userActionRequired("Secret {secret} has no {key}, which should be a kubeconfig."),
  kubeconfig_invalid: Disposition.userActionRequired("The kubeconfig in {secret} is not valid; see its {part}."),
  context_missing: Disposition.userActionRequired("The kubeconfig in {secret} has no {part} {name}."),
  kubeconfig_refused: Disposition.userActionRequired(
    "The kubeconfig in {secret} uses {part}, which this operator does not allow."
  ),
  credentials_rejected: Disposition.userActionRequired(
    "Cluster {cluster} does not accept the credentials in {secret}; renew them."
  ),
  identity_forbidden: Disposition.userActionRequired(
    "The credentials in {secret} may not read the namespace kube-system, which tells clusters apart; allow that."
  ),
  other_cluster: Disposition.userActionRequired(
    "{secret} leads to cluster {found}, and not to {cluster} as before. Point it back, or set the annotation berth.dev/abandon-cluster to {cluster} to give up what is there."
  ),
  unreachable: Disposition.transient("Cluster {cluster} cannot be reached; trying again."),
  certificate_untrusted: Disposition.transient(
    "The kubeconfig in {secret} does not trust the certificate that cluster {cluster} shows; trying again."
  ),
  cluster_unreachable: Disposition.yield(
    "Waiting to delete what is on cluster {cluster}: {problem}. If the cluster is gone for good, set the annotation berth.dev/abandon-cluster to {cluster} to give it up."
  )
})
