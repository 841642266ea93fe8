{{/* What the operator may do to the clusters that it serves, and to their children. One list for
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
# PodMonitors of single clusters, where the Prometheus operator's kinds are there.
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
# The tokens of the clusters, made once, and their certificates, which are renewed: read by name,
# never listed, deleted by the garbage collector alone.
- apiGroups: [""]
  resources: [secrets]
  verbs: [get, create, patch]
# The certificates that cert-manager is asked for, where a cluster names an issuer.
- apiGroups: [cert-manager.io]
  resources: [certificates]
  verbs: [list, watch, create, patch]
# A namespace that is being deleted takes its clusters along: their nodes are told to keep still.
- apiGroups: [""]
  resources: [namespaces]
  verbs: [get]
# Pods are read to tell why one does not start, and deleted to roll it to a new template.
- apiGroups: [""]
  resources: [pods]
  verbs: [get, list, delete]
- apiGroups: [discovery.k8s.io]
  resources: [endpointslices]
  verbs: [list]
# Events say why a StatefulSet cannot create a pod; the operator's own say what it did, and are
# counted when the same happens again.
- apiGroups: [""]
  resources: [events]
  verbs: [get, list, create, patch]
{{- end }}

{{/* What it takes to compete for the Lease of one namespace. The name is the same for all releases,
     so that two of them see each other; a right to create cannot be narrowed to a name. */}}
{{- define "partisan-operator.leaseRules" -}}
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  verbs: [create]
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  resourceNames: [partisan-operator]
  verbs: [get, update]
{{- end }}
