{{/* The operator's rights to the clusters that it serves, and to their children. One list for
     the ClusterRole and for the Roles of namespaced mode. The rights cannot be narrowed to names:
     the children are named after their clusters. */}}
{{- define "partisan-operator.rules" -}}
- apiGroups: [partisan.dev]
  resources: [partisanclusters]
  verbs: [get, list, watch]
- apiGroups: [partisan.dev]
  resources: [partisanclusters/status]
  verbs: [patch]
# Owner references with blockOwnerDeletion, where the API server asks for this right.
- apiGroups: [partisan.dev]
  resources: [partisanclusters/finalizers]
  verbs: [update]
- apiGroups: [apps]
  resources: [statefulsets]
  verbs: [get, list, watch, create, patch, delete]
# PodMonitors of single clusters, if the Prometheus operator is installed.
- apiGroups: [monitoring.coreos.com]
  resources: [podmonitors]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [""]
  resources: [services, configmaps]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [policy]
  resources: [poddisruptionbudgets]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [networking.k8s.io]
  resources: [networkpolicies]
  verbs: [get, list, watch, create, patch, delete]
# The tokens of the clusters, created once, and their certificates, which are renewed: read by
# name, never listed, deleted only by the garbage collector.
- apiGroups: [""]
  resources: [secrets]
  verbs: [get, create, patch]
# The certificates requested from cert-manager, if a cluster names an issuer.
- apiGroups: [cert-manager.io]
  resources: [certificates]
  verbs: [list, watch, create, patch]
# The deletion of a namespace deletes its clusters: their nodes are ordered to stop repairs.
- apiGroups: [""]
  resources: [namespaces]
  verbs: [get]
# Pods are read to diagnose one that does not start, and deleted to roll it to a new template.
- apiGroups: [""]
  resources: [pods]
  verbs: [get, list, delete]
- apiGroups: [discovery.k8s.io]
  resources: [endpointslices]
  verbs: [list]
# Events explain why a StatefulSet cannot create a pod; the operator's own report its actions, and
# count repetitions.
- apiGroups: [""]
  resources: [events]
  verbs: [get, list, create, patch]
{{- end }}

{{/* The rights to compete for Leases. The name is the same for all releases, so that two of them
     exclude each other; a right to create cannot be narrowed to a name. */}}
{{- define "partisan-operator.leaseRules" -}}
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  verbs: [create]
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  resourceNames: [partisan-operator]
  verbs: [get, update]
{{- end }}
